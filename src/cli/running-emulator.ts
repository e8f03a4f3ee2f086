// Records the emulator that `mic-mcp emulator` runs in the state folder, so that `--emulator` of other commands finds it.
import { readFile, rm } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import * as z from "zod/v4";
import { writeFileAtomically } from "./atomic-file.ts";

const RunningEmulator = z.object({
  baseUrl: z.url(),
  clientId: z.string(),
  clientSecret: z.string(),
  workspaceId: z.string(),
  /** Limit of the geography API per address. */
  requestsPerMinute: z.int(),
});
export type RunningEmulator = z.infer<typeof RunningEmulator>;

const pathIn = (stateDir: string): string => join(stateDir, "emulator.json");

/** Replaces an earlier record. Returns a function that removes the record, unless a later emulator has replaced it. */
export async function recordEmulator(stateDir: string, facts: RunningEmulator): Promise<() => Promise<void>> {
  const path = pathIn(stateDir);
  const text = JSON.stringify(facts);
  await writeFileAtomically(path, text);
  return async () => {
    const recorded = await readFile(path, "utf8").catch(() => "");
    if (recorded === text) await rm(path, { force: true });
  };
}

/** A killed emulator leaves its record, so the connection is tried. */
const isListening = (url: string): Promise<boolean> =>
  new Promise((resolve) => {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname.replace(/[[\]]/g, ""), port: Number(port), timeout: 1_000 });
    const end = (isOpen: boolean) => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.once("connect", () => end(true));
    for (const event of ["error", "timeout"]) socket.once(event, () => end(false));
  });

/** Returns the recorded emulator; undefined if none is running. */
export async function findRunningEmulator(stateDir: string): Promise<RunningEmulator | undefined> {
  try {
    const found = RunningEmulator.parse(JSON.parse(await readFile(pathIn(stateDir), "utf8")));
    return (await isListening(found.baseUrl)) ? found : undefined;
  } catch {
    return undefined;
  }
}
