// Records in the state folder how to reach the emulator of `mic-mcp emulator`, so that `--emulator` of other commands finds it.
import { once } from "node:events";
import { readFile, rm } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { isJsonObject } from "../contract/json.ts";
import { writeFileAtomically } from "./atomic-file.ts";

/** The variables with which a command reaches the emulator. */
type EmulatorSettings = Readonly<Record<string, string>>;

const pathIn = (stateDir: string): string => join(stateDir, "emulator.json");

/** Replaces an earlier record. Returns a function that removes the record, unless a later emulator has replaced it. */
export async function recordEmulator(stateDir: string, settings: EmulatorSettings): Promise<() => Promise<void>> {
  const path = pathIn(stateDir);
  const text = JSON.stringify(settings);
  await writeFileAtomically(path, text);
  return async () => {
    const recorded = await readFile(path, "utf8").catch(() => "");
    if (recorded === text) await rm(path, { force: true });
  };
}

/** A killed emulator leaves its record, so the connection is tried. */
async function tryConnection(url: string): Promise<void> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname.replace(/[[\]]/g, ""), port: Number(port) });
  await once(socket, "connect", { signal: AbortSignal.timeout(1_000) }).finally(() => socket.destroy());
}

export async function findRunningEmulator(stateDir: string): Promise<EmulatorSettings | undefined> {
  try {
    const recorded: unknown = JSON.parse(await readFile(pathIn(stateDir), "utf8"));
    const entries = isJsonObject(recorded) ? Object.entries(recorded) : [];
    const settings = Object.fromEntries(entries.map(([name, value]) => [name, String(value)]));
    await tryConnection(settings["MIC_BASE_URL"] ?? "");
    return settings;
  } catch {
    return undefined;
  }
}
