// Creates empty folders for single tests.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** Creates a folder for the running test only. */
export async function folderForTest(root = tmpdir()): Promise<string> {
  const path = await mkdtemp(join(root, "mic-mcp-test-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}
