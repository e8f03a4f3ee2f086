// A sign to servers at work that somebody has logged in or out, so that they read the keychain again at their next call, and
// need not at every one. A file that grows and says nothing: a sign that is missed or forged costs one reading.
import { statSync } from "node:fs";
import { appendFile, mkdir } from "node:fs/promises";
import { join } from "node:path";

const FILE = "login-changed";

/** Another text after each sign. */
export function readSign(folder: string): string {
  try {
    const found = statSync(join(folder, FILE), { throwIfNoEntry: false });
    return found ? `${found.ino} ${found.size}` : "";
  } catch {
    return "";
  }
}

/** False where nothing can be written. */
export async function giveSign(folder: string): Promise<boolean> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await appendFile(join(folder, FILE), ".", { mode: 0o600 });
    return true;
  } catch {
    return false;
  }
}
