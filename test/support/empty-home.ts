// Creates an empty HOME for a program that a test starts.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The variables that name a home folder, and on Windows those that no program can start without. */
export function homeVariables(home: string) {
  if (process.platform !== "win32") return { HOME: home };
  const { SystemRoot = "", TEMP = "" } = process.env;
  const data = { APPDATA: join(home, "AppData", "Roaming"), LOCALAPPDATA: join(home, "AppData", "Local") };
  return { HOME: home, USERPROFILE: home, ...data, SystemRoot, TEMP };
}

export function createEmptyHome() {
  const path = mkdtempSync(join(tmpdir(), "mic-mcp-home-"));
  const remove = () => rmSync(path, { recursive: true, force: true, maxRetries: 5 });
  return { path, remove };
}
