// What a composition works against: the configured service, or an emulator inside this process.
import { type Config, EMULATED_GEOGRAPHY_RATE } from "../config.ts";
import type { Emulator } from "../emulator/index.ts";
import type { Note } from "../mcp/instructions.ts";
import type { Candidate } from "../toolkit/candidate.ts";

export interface Backend {
  readonly config: Config;
  readonly notes: readonly Note[];
  readonly files: readonly Candidate[];
  close(): Promise<void>;
}

const told = ({ id, name, about }: Emulator["files"][number]): string =>
  `${id} ${name}${about === "" ? "" : ` (${about})`}`;

/** What the instructions say of the emulator behind them. */
export const emulatorNotes = ({ files }: Pick<Emulator, "files">): readonly Note[] => [
  {
    text: "This server runs against a local emulator: all data except geography is made up, and nothing leaves this machine.",
  },
  {
    needs: ["download_asset"],
    text: `Its files (M4_FILE): ${files.map(told).join(", ")}.`,
  },
];

async function emulated(config: Config): Promise<Backend> {
  const { startEmulator } = await import("../emulator/index.ts");
  // Its limit lies above ours.
  const emulator = await startEmulator({ requestsPerPeer: 10 * EMULATED_GEOGRAPHY_RATE });
  const { baseUrl, clientId, clientSecret, workspaceId } = emulator;
  return {
    config: {
      ...config,
      baseUrl,
      credentials: { clientId, clientSecret },
      workspaceId: config.workspaceId ?? workspaceId,
    },
    notes: emulatorNotes(emulator),
    files: emulator.files.map(({ id, name }) => ({ value: id, name })),
    close: () => emulator.close(),
  };
}

export const backendOf = async (config: Config): Promise<Backend> =>
  config.emulator ? await emulated(config) : { config, notes: [], files: [], close: async () => undefined };
