// Writes a file so that no reader ever sees a part of it.
import { randomBytes } from "node:crypto";
import { mkdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";

/** Keeps the mode of an existing file; only the owner can read a new one. Creates the folder if it does not exist. */
export async function writeFileAtomically(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const mode = await stat(path).then(
    (found) => found.mode & 0o777,
    () => 0o600,
  );
  const draft = `${path}.${randomBytes(6).toString("hex")}.tmp`;
  try {
    await writeFile(draft, text, { mode, flag: "wx", flush: true });
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
