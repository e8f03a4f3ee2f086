// Builds the release's folder for one test file, outside the tree.
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll } from "vitest";

export const execute = promisify(execFile);

const bin = (...path: readonly string[]): string => join(process.cwd(), "node_modules", ...path);

interface ReleasePaths {
  /** A path inside the release. */
  releasePath(...path: readonly string[]): string;
  /** A path next to the release; it is removed after the file's tests. */
  siblingPath(name: string): string;
}

export function releaseForFile(): ReleasePaths {
  let folder = "";
  const releasePath = (...path: readonly string[]): string => join(folder, "release", ...path);
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "mic-mcp-release-"));
    await execute(process.execPath, [bin("tsx", "dist", "cli.mjs"), "scripts/release/release.ts", releasePath()]);
  }, 120_000);
  afterAll(() => rm(folder, { recursive: true, force: true }));
  return { releasePath, siblingPath: (name) => join(folder, name) };
}
