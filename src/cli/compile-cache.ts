// Enables Node's compile cache in a folder that only the user can write to (docs/decisions/008-startup.md).
import { lstatSync, mkdirSync } from "node:fs";
import nodeModule from "node:module";
import { cacheFolder } from "../core/platform-folders.ts";

/** The cached code is executed: a folder that another user owns, links elsewhere or can write to is not used. */
function isPrivate(folder: string): boolean {
  // On Windows the access list of the user's profile protects the folder.
  if (process.getuid === undefined) return true;
  const { uid, mode } = lstatSync(folder);
  return uid === process.getuid() && (mode & 0o022) === 0;
}

/** Does nothing before Node 22.8, which has no compile cache, and if Node's own variables for it are set. */
export function enableCompileCache(environment: NodeJS.ProcessEnv): void {
  if (!("enableCompileCache" in nodeModule) || typeof nodeModule.enableCompileCache !== "function") return;
  if (environment["NODE_COMPILE_CACHE"] || environment["NODE_DISABLE_COMPILE_CACHE"]) return;
  const folder = cacheFolder(environment);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (isPrivate(folder)) nodeModule.enableCompileCache(folder);
  } catch {
    // With a read-only home the program starts without the cache.
  }
}
