// Where the platform has a program keep its files.
import { homedir } from "node:os";
import { join } from "node:path";

const inLibrary = (kind: string): string => join(homedir(), "Library", kind, "mic-mcp");
const onWindows = ({ LOCALAPPDATA }: NodeJS.ProcessEnv): string =>
  join(LOCALAPPDATA ?? join(homedir(), "AppData", "Local"), "mic-mcp");

/** For what a program has to remember. */
export function stateFolder(environment: NodeJS.ProcessEnv): string {
  if (process.platform === "darwin") return inLibrary("Application Support");
  if (process.platform === "win32") return onWindows(environment);
  return join(environment["XDG_STATE_HOME"] || join(homedir(), ".local", "state"), "mic-mcp");
}

/** For what can be made anew. */
export function cacheFolder(environment: NodeJS.ProcessEnv): string {
  if (process.platform === "darwin") return inLibrary("Caches");
  if (process.platform === "win32") return join(onWindows(environment), "cache");
  return join(environment["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "mic-mcp");
}
