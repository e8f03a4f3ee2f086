// Starts and stops an emulator of the API, as the contract describes it, on this machine.
import { once, setMaxListeners } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { SCOPES } from "../contract/endpoints/index.ts";
import { toUrlHost } from "../core/loopback.ts";
import { createAdmin } from "./admin.ts";
import { createApp } from "./app.ts";
import { MAX_ENTRIES, REQUESTS_PER_PEER, STAGE_MS } from "./assumptions.ts";
import { createIssuedTokens } from "./authorization.ts";
import { createClients, toClientFacts } from "./clients.ts";
import { type Clock, createAdjustableClock, systemClock } from "./clock.ts";
import { FaultQueue } from "./faults.ts";
import { createHostCheck, isThisMachine } from "./http/host-check.ts";
import { createPlayground } from "./playground.ts";
import { createRecords } from "./records.ts";
import { createHttpServer, createRequestHandler } from "./server.ts";

export { REQUESTS_PER_PEER } from "./assumptions.ts";
export type { ClientFacts } from "./clients.ts";
export type { Clock } from "./clock.ts";

export interface EmulatorOptions {
  /** Default "127.0.0.1". */
  readonly host?: string;
  /** Default 0: any free port. */
  readonly port?: number;
  /** The same seed gives the same ids (default "mic-mcp"). If a seed is given, the client secret is derived from it, too. */
  readonly seed?: string;
  /** Default: the system clock. POST /__emulator/clock adds time to it. */
  readonly clock?: Clock;
  /** Duration of a job's stage, in milliseconds (default 500). */
  readonly stageMs?: number;
  /** A trusted edge supplies X-Forwarded-For (default false). Each reported address may then send 30 playground requests per minute. */
  readonly trustReportedAddress?: boolean;
  /** Maximum playground requests per minute from one peer (default 600). */
  readonly requestsPerPeer?: number;
  /** Number of clients, each with its own workspace (default 1). */
  readonly clients?: number;
  /** The scopes that clients may request (default: all of the contract). */
  readonly scopes?: readonly string[];
  /** Number of latest requests that /__emulator/requests returns (default 1000). */
  readonly maxRequestRecords?: number;
  /** Number of latest idempotency keys that /__emulator/executions returns (default 20,000). */
  readonly maxExecutionRecords?: number;
}

export type Emulator = Awaited<ReturnType<typeof startEmulator>>;

const DEFAULT_SEED = "mic-mcp";

async function listen(server: Server, host: string, port: number): Promise<AddressInfo> {
  await once(server.listen(port, host), "listening");
  const address = server.address();
  if (typeof address === "object" && address !== null) return address;
  throw new Error("the emulator listens on no TCP port");
}

/** Returns the host under which clients on this machine connect, because a wildcard address is not a valid destination. */
function toConnectableHost(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  if (host === "::") return "[::1]";
  return toUrlHost(host);
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

export async function startEmulator(options: EmulatorOptions = {}) {
  const {
    host = "127.0.0.1",
    port = 0,
    seed = DEFAULT_SEED,
    stageMs = STAGE_MS,
    trustReportedAddress = false,
    requestsPerPeer = REQUESTS_PER_PEER,
    clients: count = 1,
    scopes = SCOPES,
    maxRequestRecords = MAX_ENTRIES.requests,
    maxExecutionRecords = MAX_ENTRIES.executions,
  } = options;
  const clock = createAdjustableClock(options.clock ?? systemClock);
  const isRepeatable = options.seed !== undefined;
  const clients = createClients(clock, count, { seed, isRepeatable, stageMs });
  const [{ world }] = clients;

  const parts = {
    clients,
    tokens: createIssuedTokens(clock),
    scopes,
    faults: new FaultQueue(),
    records: createRecords(clock, maxRequestRecords, maxExecutionRecords, count > 1),
    playground: createPlayground(clock, trustReportedAddress, requestsPerPeer),
  };
  const closing = new AbortController();
  // Each delayed response adds a listener, and Node warns of more than 10.
  setMaxListeners(0, closing.signal);
  const server = createHttpServer();
  const listening = await listen(server, host, port);
  const checkHost = createHostCheck(host, listening);
  server.on("request", createRequestHandler(createApp(parts), createAdmin(clock, parts), checkHost, closing.signal));

  let closed: Promise<void> | undefined;
  return {
    baseUrl: `http://${toConnectableHost(host)}:${listening.port}`,
    ...toClientFacts(clients[0]),
    /** The files with their names and, if the name is not enough, a description of their rows. */
    files: world.files.map(({ id, name, about }) => ({ id, name, about })),
    clients: clients.map(toClientFacts),
    /** True if other machines cannot reach the emulator. */
    isLocal: isThisMachine(listening.address),
    /** Stops within 100 ms, even with open or hanging connections. */
    close(): Promise<void> {
      closing.abort();
      closed ??= closeServer(server);
      return closed;
    },
  };
}
