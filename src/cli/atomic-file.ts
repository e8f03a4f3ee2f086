// Writes a file so that a reader gets either the old or the complete new content.
import { randomBytes } from "node:crypto";
import { mkdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { errorCode } from "../core/failure.ts";

interface System {
  readonly platform: NodeJS.Platform;
  readonly rename: typeof rename;
}

/** On Windows, a file cannot be replaced while an editor or a virus scanner holds it open, which is usually short. */
const RETRY_DELAYS_MS = [10, 20, 50, 100, 200, 400];

async function replace(draft: string, path: string, system: System): Promise<void> {
  for (const delayMs of system.platform === "win32" ? RETRY_DELAYS_MS : []) {
    try {
      return await system.rename(draft, path);
    } catch (error) {
      if (!["EPERM", "EACCES", "EBUSY"].includes(errorCode(error))) throw error;
      await sleep(delayMs);
    }
  }
  await system.rename(draft, path);
}

/** Keeps the mode of an existing file; only the owner can read a new one. Creates the folder if it does not exist. */
export async function writeFileAtomically(
  path: string,
  text: string,
  system: System = { platform: process.platform, rename },
): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const mode = await stat(path).then(
    (found) => found.mode & 0o777,
    () => 0o600,
  );
  const draft = `${path}.${randomBytes(6).toString("hex")}.tmp`;
  try {
    await writeFile(draft, text, { mode, flag: "wx", flush: true });
    await replace(draft, path, system);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
