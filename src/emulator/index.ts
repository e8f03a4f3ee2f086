// The service as the contract describes it, on this machine: start and stop.
import { randomBytes } from "node:crypto";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { inUrl } from "../loopback.ts";
import { makeAdmin } from "./admin.ts";
import { makeApp } from "./app.ts";
import { ID_PREFIX, REQUESTS_PER_PEER, STAGE_MS } from "./choices.ts";
import { adjustable, type Clock, systemClock } from "./clock.ts";
import { Faults } from "./faults.ts";
import { type HostCheck, isThisMachine, makeGate } from "./http/gate.ts";
import { type Ids, makeIds } from "./ids.ts";
import type { Credentials } from "./oauth.ts";
import { makePlayground } from "./playground.ts";
import { Records } from "./records.ts";
import { makeServer } from "./server.ts";
import { IssuedTokens } from "./tokens.ts";
import { seed as plant } from "./world/seed.ts";
import { makeWorld } from "./world/world.ts";

export type { Clock } from "./clock.ts";

export interface EmulatorOptions {
  /** Default "127.0.0.1". */
  readonly host?: string;
  /** Default 0: any. */
  readonly port?: number;
  /** The same seed gives the same ids; default "mic-mcp". Given, it makes the client secret too. */
  readonly seed?: string;
  /** Default: the system's. What POST /__emulator/clock added comes on top. */
  readonly clock?: Clock;
  /** How long a job's stage takes; default 500. */
  readonly stageMs?: number;
  /** A trusted edge supplies X-Forwarded-For: 30 playground requests per minute and address; default false. */
  readonly trustReportedAddress?: boolean;
  /** Playground requests per minute of one peer; default 600. */
  readonly requestsPerPeer?: number;
  /** Default: the id made from the seed, the secret at random unless a seed was given. */
  readonly secrets?: Credentials;
}

export interface Emulator {
  readonly baseUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly workspaceId: string;
  /** In this order, a job on the file: succeeds, fails retryably, fails for good, waits for review, pauses; then files
   *  not scanned yet and infected; then more that succeed. */
  readonly fileIds: readonly string[];
  /** Their names, and what is in them. */
  readonly files: readonly { readonly id: string; readonly name: string; readonly about: string }[];
  /** The files whose content can be downloaded. */
  readonly assetIds: readonly string[];
  /** First one for each file, in the files' order; then an acquisition, a dataset version, an expired and a withdrawn one. */
  readonly inputIds: readonly string[];
  /** Offered now; the first takes one input and flat parameters, the second nested ones with references. */
  readonly recipeVersionIds: readonly string[];
  /** Other machines cannot reach it. */
  readonly isLocal: boolean;
  /** Ends within 100 ms, with open or hanging connections too. */
  close(): Promise<void>;
}

const DEFAULT_SEED = "mic-mcp";

function makeCredentials({ seed, secrets }: EmulatorOptions, ids: Ids): Credentials {
  const clientId = ids.next(ID_PREFIX.client);
  if (secrets !== undefined) return secrets;
  return { clientId, clientSecret: seed === undefined ? randomBytes(32).toString("base64url") : ids.named("secret") };
}

function listen(server: Server, host: string, port: number): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      const address = server.address();
      if (typeof address === "object" && address !== null) resolve(address);
      else reject(new Error("the emulator listens on no TCP port"));
    });
  });
}

/** Where a client on this machine finds it: a wildcard address is no destination. */
function urlHost(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  if (host === "::") return "[::1]";
  return inUrl(host);
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

export async function startEmulator(options: EmulatorOptions = {}): Promise<Emulator> {
  const {
    host = "127.0.0.1",
    port = 0,
    seed = DEFAULT_SEED,
    stageMs = STAGE_MS,
    trustReportedAddress = false,
    requestsPerPeer = REQUESTS_PER_PEER,
  } = options;
  const clock = adjustable(options.clock ?? systemClock);
  const ids = makeIds(seed);
  const credentials = makeCredentials(options, ids);
  const world = makeWorld(clock, ids, stageMs);
  plant(world);

  const tokens = new IssuedTokens(clock);
  const faults = new Faults();
  const records = new Records(clock);
  const playground = makePlayground(clock, { trustReportedAddress, requestsPerPeer });
  const closing = new AbortController();
  let gate: HostCheck = () => ({ header: "Host", reason: "The emulator does not listen yet." });
  const server = makeServer({
    app: makeApp({ world, playground, tokens, credentials, faults, records }),
    admin: makeAdmin({ clock, faults, records, tokens, playground }),
    gate: () => gate,
    nextRequestId: () => ids.next(ID_PREFIX.request),
    closing: closing.signal,
  });
  const listening = await listen(server, host, port);
  gate = makeGate({ host, ...listening });

  let closed: Promise<void> | undefined;
  return {
    baseUrl: `http://${urlHost(host)}:${listening.port}`,
    ...credentials,
    workspaceId: world.workspaceId,
    fileIds: world.files.map(({ id }) => id),
    files: world.files.map(({ id, name, about }) => ({ id, name, about })),
    assetIds: world.files.filter(({ scan }) => scan === "clean").map(({ id }) => id),
    inputIds: world.inputs.seeded.map(({ id }) => id),
    recipeVersionIds: world.recipes
      .filter((recipe) => recipe.isOfferedAt(clock.now()))
      .map(({ definition }) => definition.versionId),
    isLocal: isThisMachine(listening.address),
    close() {
      closing.abort();
      closed ??= closeServer(server);
      return closed;
    },
  };
}
