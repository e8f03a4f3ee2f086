// Enables Node's compile cache in a folder that only the user can write to (docs/contribute/decisions/008-startup.md).
import { lstatSync, mkdirSync } from "node:fs";
import nodeModule from "node:module";
import { cacheFolder } from "../core/platform-folders.ts";

/** Cached code is executed, so the folder must belong to this user, must not be a link, and must not be writable by other users. */
function isPrivate(folder: string): boolean {
  // On Windows, the access control list of the user's profile protects the folder.
  if (process.getuid === undefined) return true;
  const { uid, mode } = lstatSync(folder);
  return uid === process.getuid() && (mode & 0o022) === 0;
}

/** Does nothing on Node versions before 22.8, which have no compile cache, or if Node's own cache variables are set. */
export function enableCompileCache(environment: NodeJS.ProcessEnv): void {
  if (!("enableCompileCache" in nodeModule) || typeof nodeModule.enableCompileCache !== "function") return;
  if (environment["NODE_COMPILE_CACHE"] || environment["NODE_DISABLE_COMPILE_CACHE"]) return;
  const folder = cacheFolder(environment);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (isPrivate(folder)) nodeModule.enableCompileCache(folder);
  } catch {
    // If the home folder is read-only, the program starts without the cache.
  }
}
