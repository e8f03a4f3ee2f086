// Creates an empty HOME for a program that a test starts.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Home {
  readonly path: string;
  /** Removes the folder after the program has ended. */
  remove(): void;
}

export function createEmptyHome(): Home {
  const path = mkdtempSync(join(tmpdir(), "mic-mcp-home-"));
  return { path, remove: () => rmSync(path, { recursive: true, force: true, maxRetries: 5 }) };
}
