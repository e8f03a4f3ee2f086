// Creates empty folders for single tests.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

export async function folderForTest(root = tmpdir()): Promise<string> {
  const path = await mkdtemp(join(root, "mic-mcp-test-"));
  // A program of the test may still write to the folder.
  onTestFinished(() => rm(path, { recursive: true, force: true, maxRetries: 5 }));
  return path;
}
