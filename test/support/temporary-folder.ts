// Empty folders of a test's own, in which whoever runs the tests may write.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** For the running test alone. */
export async function folderForTest(root = tmpdir()): Promise<string> {
  const path = await mkdtemp(join(root, "mic-mcp-test-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}
