// Starts a deployment for teams in the test's process: PostgreSQL, an emulator with a client for each team, real MCP clients.
import { randomBytes } from "node:crypto";
import { onTestFinished } from "vitest";
import { migrateSchema } from "../../src/actions/schema.ts";
import { readConfig } from "../../src/core/config.ts";
import type { Emulator } from "../../src/emulator/index.ts";
import type { Runtime } from "../../src/mcp/runtime.ts";
import { type Caller, callerId } from "../../src/teams/caller.ts";
import { type ComposedTeams, composeTeams, type Deployment } from "../../src/teams/compose.ts";
import { createEncryption, readSecretKeys } from "../../src/teams/encryption.ts";
import { createTeams, type Member, prepareTables, type Teams } from "../../src/teams/tenancy/teams.ts";
import { serveOnHttp } from "../../src/transports/http/serve.ts";
import { createModernClient } from "../mcp/http/raw-client.ts";
import { TASKS } from "../mcp/tasks/client.ts";
import { connectHttp, type TestClient } from "../support/mcp.ts";
import type { PostgresServer } from "../support/postgres.ts";
import { databaseForTest } from "./services.ts";

export const ISSUER = "https://login.example.org";
export const PUBLIC = "https://mic.example.org";

export const createCaller = (subject: string, groups: readonly string[] = [], issuer = ISSUER): Caller => ({
  id: callerId(issuer, subject),
  issuer,
  subject,
  clientId: "agent",
  audiences: [],
  rights: new Set(["read", "write"]),
  scopes: ["mic:read", "mic:write"],
  groups,
  expiresAt: Date.now() + 3_600_000,
});

export const createKeyLine = (id: string): string => `${id} ${randomBytes(32).toString("base64")}`;

export interface TestTeam {
  readonly name: string;
  /** Index of the emulator's client; the team may have another secret than the emulator. */
  readonly client: number;
  readonly claim?: string;
  readonly members?: readonly Member[];
  readonly secret?: string;
}

export interface TestEnvironment {
  readonly url: string;
  readonly keys: string;
  readonly emulator: Emulator;
}

export const RED: TestTeam = { name: "red", client: 0, claim: "reds" };
export const BLUE: TestTeam = { name: "blue", client: 1, claim: "blues" };

/** Opens the tables of teams until the running test ends. */
export async function openTeams(url: string): Promise<Teams> {
  const database = await databaseForTest(url);
  await migrateSchema(database);
  await prepareTables(database);
  return createTeams(database);
}

/** An empty database with one key, and these teams. `createDatabase` may return URLs of several servers, the primary first. */
export async function environmentForTest(
  postgres: Pick<PostgresServer, "createDatabase">,
  emulator: Emulator,
  teams: readonly TestTeam[] = [RED],
): Promise<TestEnvironment> {
  const environment = { url: await postgres.createDatabase(), keys: createKeyLine("one"), emulator };
  const table = await openTeams(environment.url.split(",")[0] ?? "");
  const { encryptSecret } = createEncryption(readSecretKeys(environment.keys));
  for (const { name, client, claim, members = [], secret } of teams) {
    const credentials = emulator.clients[client];
    if (!credentials) throw new Error("the emulator has no such client");
    const { clientId, workspaceId, clientSecret } = credentials;
    const encrypted = await encryptSecret(name, secret ?? clientSecret);
    await table.add({ name, baseUrl: emulator.baseUrl, clientId, workspaceId, claim, secret: { encrypted } });
    await table.addMembers(name, members);
  }
  return environment;
}

export async function instanceForTest(
  { url, keys, emulator }: TestEnvironment,
  more: Partial<Deployment> = {},
): Promise<ComposedTeams> {
  const settings: Deployment = {
    config: readConfig({
      MIC_BASE_URL: emulator.baseUrl,
      MIC_KEYCHAIN: "off",
      MIC_LOG_LEVEL: "silent",
      MIC_GEOGRAPHY_RATE_LIMIT: "600",
    }),
    database: { urls: url.split(","), pool: 4, durability: "local", migrate: true },
    secretKeys: readSecretKeys(keys),
    secrets: [],
    publicOrigin: PUBLIC,
    auditRetentionDays: 90,
    restoreGap: undefined,
    ...more,
  };
  const instance = composeTeams(settings);
  onTestFinished(() => instance.close());
  return instance;
}

/** Serves a caller's runtime over HTTP until the running test ends, and returns the URL. */
export async function serveRuntime(runtime: Runtime): Promise<string> {
  const { url, drain } = await serveOnHttp(runtime, { address: "127.0.0.1", port: 0, access: undefined });
  onTestFinished(() => drain(0, AbortSignal.abort()));
  return url;
}

/** The runtime of a caller who may use this path; throws if they may not. */
export async function resolveRuntime({ runtimeOf }: ComposedTeams, caller: Caller, team?: string): Promise<Runtime> {
  const runtime = await runtimeOf(caller, team);
  if (!runtime) throw new Error("there is no such path");
  return runtime;
}

/** A client of this caller that is closed when the running test ends. */
export async function connectCaller(...where: Parameters<typeof resolveRuntime>): Promise<TestClient> {
  const client = await connectHttp("v2-modern", await serveRuntime(await resolveRuntime(...where)));
  onTestFinished(() => client.close());
  return client;
}

const CAPABILITIES = { extensions: { [TASKS]: {} }, elicitation: { form: {} } };
let lastId = 0;

/** Sends a request that no SDK client may send, and returns the response; for a stream its last message. Throws if no message arrives. */
export async function sendRequest(url: string, method: string, params: Readonly<Record<string, unknown>>) {
  const client = createModernClient(url, CAPABILITIES);
  const { messages, status, body } = await client.request(++lastId, method, params).answer;
  const lastMessage = messages.at(-1);
  if (!lastMessage) throw new Error(`${method} was answered ${status}: ${body}`);
  return lastMessage;
}
