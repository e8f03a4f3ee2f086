// Builds the release's folder for one test file, outside the tree.
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll } from "vitest";

export const execute = promisify(execFile);

const bin = (...path: readonly string[]): string => join(process.cwd(), "node_modules", ...path);

export function releaseForFile() {
  let folder = "";
  /** A path inside the release. */
  const releasePath = (...path: readonly string[]): string => join(folder, "release", ...path);
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "mic-mcp-release-"));
    await execute(process.execPath, [bin("tsx", "dist", "cli.mjs"), "scripts/release/release.ts", releasePath()]);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));
  /** A path next to the release; it is removed after the file's tests. */
  const siblingPath = (...path: readonly string[]): string => join(folder, ...path);
  return { releasePath, siblingPath };
}
