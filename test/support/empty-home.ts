// Creates an empty HOME for a program that a test starts.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export function createEmptyHome() {
  const path = mkdtempSync(join(tmpdir(), "mic-mcp-home-"));
  /** Removes the folder after the program has ended. */
  const remove = () => rmSync(path, { recursive: true, force: true, maxRetries: 5 });
  return { path, remove };
}
