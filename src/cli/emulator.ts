// Implements `mic-mcp emulator`, which runs the emulated API without an MCP server until a signal stops it.
import { SCOPES } from "../contract/endpoints/index.ts";
import { EMULATED_GEOGRAPHY_RATE, readStateDir, UsageError } from "../core/config.ts";
import { errorMessage } from "../core/failure.ts";
import { parseIntegerFlag, type RunCommand } from "./commands.ts";
import { parseChoice } from "./errors.ts";
import { recordEmulator } from "./running-emulator.ts";
import { SIGNALS } from "./signals.ts";

/** A limit is needed because the data of each client takes memory and startup time. */
const MAX_CLIENTS = 100;

export const emulator: RunCommand<"emulator"> = async ({ values }, environment) => {
  const port = parseIntegerFlag("port", values.port, 65535);
  const stageMs = parseIntegerFlag("stage-ms", values["stage-ms"], 86_400_000);
  const requestsPerPeer = parseIntegerFlag("requests-per-minute", values["requests-per-minute"], 1_000_000);
  const clients = parseIntegerFlag("clients", values.clients, MAX_CLIENTS);
  if (clients === 0) throw new UsageError("--clients must be at least 1.");
  const scopes = values.scopes?.split(",").map((scope) => parseChoice("--scopes", scope, SCOPES));
  const { startEmulator, REQUESTS_PER_PEER } = await import("../emulator/index.ts");
  const { host, seed } = values;
  const options = { host, port, seed, stageMs, requestsPerPeer, clients, scopes };
  const { close, isLocal, files: _, clients: all, ...facts } = await startEmulator(options);
  if (!isLocal)
    process.stderr.write(
      `mic-mcp: with --host ${host} the emulator accepts requests from every machine that can reach it; /__emulator accepts requests only from this machine.\n`,
    );
  // As with the API, two requests are left for other clients.
  const rate = Math.min(EMULATED_GEOGRAPHY_RATE, Math.max(1, (requestsPerPeer ?? REQUESTS_PER_PEER) - 2));
  const record = {
    MIC_BASE_URL: facts.baseUrl,
    MIC_CLIENT_ID: facts.clientId,
    MIC_CLIENT_SECRET: facts.clientSecret,
    // These two replace the user's own settings.
    MIC_CLIENT_SECRET_FILE: "",
    MIC_CLIENT_SECRET_COMMAND: "",
    MIC_WORKSPACE_ID: facts.workspaceId,
    MIC_GEOGRAPHY_RATE_LIMIT: String(rate),
  };
  const removeRecord = await recordEmulator(readStateDir(environment), record).catch((error: unknown) => {
    process.stderr.write(`mic-mcp: --emulator of other commands cannot find this emulator: ${errorMessage(error)}\n`);
  });
  process.stdout.write(`${JSON.stringify(all.length > 1 ? { ...facts, clients: all } : facts)}\n`);
  await new Promise<void>((resolve) => {
    for (const signal of SIGNALS) process.once(signal, () => resolve());
  });
  await removeRecord?.();
  await close();
  return 0;
};
