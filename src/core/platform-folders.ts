// This module returns the folders in which programs store their files on each platform.
import { homedir } from "node:os";
import { posix, win32 } from "node:path";

export interface Platform {
  readonly name: NodeJS.Platform;
  readonly home: string;
}

const thisPlatform = (): Platform => ({ name: process.platform, home: homedir() });

/** Returns the folder for data that must not be lost. */
export function stateFolder(environment: NodeJS.ProcessEnv, { name, home } = thisPlatform()): string {
  const { LOCALAPPDATA, XDG_STATE_HOME } = environment;
  if (name === "win32") return win32.join(LOCALAPPDATA || win32.join(home, "AppData", "Local"), "mic-mcp");
  if (name === "darwin") return posix.join(home, "Library", "Application Support", "mic-mcp");
  return posix.join(XDG_STATE_HOME || posix.join(home, ".local", "state"), "mic-mcp");
}

/** Returns the folder for data that can be recreated. */
export function cacheFolder(environment: NodeJS.ProcessEnv, platform = thisPlatform()): string {
  const { name, home } = platform;
  if (name === "win32") return win32.join(stateFolder(environment, platform), "cache");
  if (name === "darwin") return posix.join(home, "Library", "Caches", "mic-mcp");
  return posix.join(environment["XDG_CACHE_HOME"] || posix.join(home, ".cache"), "mic-mcp");
}
