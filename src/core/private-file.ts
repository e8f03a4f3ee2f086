// This module reads a file with a secret, which other users must not be able to read.
import { constants } from "node:fs";
import { open } from "node:fs/promises";

/** Returns at most the first `maxBytes` bytes, or why the file must not be used. Throws the errors of the operating system. */
export async function readPrivateFile(
  path: string,
  maxBytes: number,
): Promise<Buffer | "not a file" | "readable by others"> {
  // Without O_NONBLOCK, a named pipe without a writer would block a thread, and the process could not end.
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const stats = await file.stat();
    if (!stats.isFile()) return "not a file";
    if (process.platform !== "win32" && (stats.mode & 0o077) !== 0) return "readable by others";
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(maxBytes) });
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
