// Where the platform has a program keep its files.
import { homedir } from "node:os";
import { posix, win32 } from "node:path";

/** A machine, as far as its folders depend on it. */
export interface Platform {
  readonly name: NodeJS.Platform;
  readonly home: string;
}

const thisPlatform = (): Platform => ({ name: process.platform, home: homedir() });

interface Folders {
  /** For what a program has to remember. */
  readonly state: string;
  /** For what can be made anew. */
  readonly cache: string;
}

function foldersOf(environment: NodeJS.ProcessEnv, { name, home }: Platform): Folders {
  const { LOCALAPPDATA, XDG_STATE_HOME, XDG_CACHE_HOME } = environment;
  if (name === "win32") {
    const state = win32.join(LOCALAPPDATA || win32.join(home, "AppData", "Local"), "mic-mcp");
    return { state, cache: win32.join(state, "cache") };
  }
  if (name === "darwin") {
    const inLibrary = (kind: string): string => posix.join(home, "Library", kind, "mic-mcp");
    return { state: inLibrary("Application Support"), cache: inLibrary("Caches") };
  }
  return {
    state: posix.join(XDG_STATE_HOME || posix.join(home, ".local", "state"), "mic-mcp"),
    cache: posix.join(XDG_CACHE_HOME || posix.join(home, ".cache"), "mic-mcp"),
  };
}

export const stateFolder = (environment: NodeJS.ProcessEnv, platform = thisPlatform()): string =>
  foldersOf(environment, platform).state;

export const cacheFolder = (environment: NodeJS.ProcessEnv, platform = thisPlatform()): string =>
  foldersOf(environment, platform).cache;
