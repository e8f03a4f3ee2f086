// Empty folders of a test's own, in which whoever runs the tests may write: a HOME for a program, and any other.
import { mkdtempSync, rmSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

export interface Home {
  readonly path: string;
  /** Once the program is gone. */
  remove(): void;
}

export function emptyHome(): Home {
  const path = mkdtempSync(join(tmpdir(), "mic-mcp-home-"));
  return { path, remove: () => rmSync(path, { recursive: true, force: true, maxRetries: 5 }) };
}

/** For the running test alone. */
export async function folderForTest(root = tmpdir()): Promise<string> {
  const path = await mkdtemp(join(root, "mic-mcp-test-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}
