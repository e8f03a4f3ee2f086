// This module returns the folders in which programs store their files on each platform. None of them depends on the working folder, which
// hosts set to the folder of a project.
import { userInfo } from "node:os";
import { posix, win32 } from "node:path";

export interface Platform {
  readonly name: NodeJS.Platform;
  /** Undefined if the user has no home folder. */
  readonly home: string | undefined;
}

/** On Windows, a path without a drive depends on the current drive. */
export const isAbsolutePath = (path: string, platform: NodeJS.Platform = process.platform): boolean =>
  platform === "win32" ? /^(?:[A-Za-z]:[\\/]|[\\/]{2}[^\\/])/.test(path) : posix.isAbsolute(path);

/** Returns the path, or undefined if it is not absolute: the XDG Base Directory Specification requires to ignore it. */
export const ifAbsolute = (path: string | undefined, platform?: NodeJS.Platform): string | undefined =>
  path !== undefined && isAbsolutePath(path, platform) ? path : undefined;

/** Returns the home folder: HOME (on Windows USERPROFILE), or else the one that the system records; undefined if there is none. */
export function homeFolder(environment: NodeJS.ProcessEnv): string | undefined {
  const given = ifAbsolute(environment[process.platform === "win32" ? "USERPROFILE" : "HOME"]);
  if (given !== undefined) return given;
  try {
    return ifAbsolute(userInfo().homedir);
  } catch {
    // The user of a container may have no entry in /etc/passwd.
    return undefined;
  }
}

/** Replaces `~` at the start of a path, which only a shell would do. */
export const expandHome = (path: string, home: string | undefined): string =>
  home === undefined ? path : path.replace(process.platform === "win32" ? /^~(?=[\\/]|$)/ : /^~(?=\/|$)/, () => home);

const platformOf = (environment: NodeJS.ProcessEnv): Platform => ({
  name: process.platform,
  home: homeFolder(environment),
});

/** Returns the folder for data that must not be lost; undefined without a home folder. */
export function stateFolder(environment: NodeJS.ProcessEnv, platform = platformOf(environment)): string | undefined {
  const { name, home } = platform;
  if (name === "win32") {
    const folder = ifAbsolute(environment["LOCALAPPDATA"], name) ?? (home && win32.join(home, "AppData", "Local"));
    return folder && win32.join(folder, "mic-mcp");
  }
  if (name === "darwin") return home && posix.join(home, "Library", "Application Support", "mic-mcp");
  const folder = ifAbsolute(environment["XDG_STATE_HOME"], name) ?? (home && posix.join(home, ".local", "state"));
  return folder && posix.join(folder, "mic-mcp");
}

/** Returns the folder for data that can be recreated; undefined without a home folder. */
export function cacheFolder(environment: NodeJS.ProcessEnv, platform = platformOf(environment)): string | undefined {
  const { name, home } = platform;
  if (name === "win32") {
    const folder = stateFolder(environment, platform);
    return folder && win32.join(folder, "cache");
  }
  if (name === "darwin") return home && posix.join(home, "Library", "Caches", "mic-mcp");
  const folder = ifAbsolute(environment["XDG_CACHE_HOME"], name) ?? (home && posix.join(home, ".cache"));
  return folder && posix.join(folder, "mic-mcp");
}
