// A deployment reduced to its files: runtimes of callers whose tools create links, and the server that serves those links.
import { randomBytes } from "node:crypto";
import { onTestFinished } from "vitest";
import type { Runtime } from "../../src/mcp/runtime.ts";
import { createDownloads, type DownloadOptions } from "../../src/teams/downloads/downloads.ts";
import type { Holder } from "../../src/teams/downloads/links.ts";
import { createLinkedFiles } from "../../src/teams/downloads/links.ts";
import { createEncryption, type Encryption, readSecretKeys } from "../../src/teams/encryption.ts";
import type { CallerClaims } from "../../src/teams/tenancy/runtimes.ts";
import { LISTENER_LIMITS, startServer } from "../../src/transports/http/listener.ts";
import { errorResponse, RequestRefused } from "../../src/transports/http/responses.ts";
import { tools } from "../../tools/index.ts";
import { composeForTest } from "../support/compose.ts";
import { serveRuntime } from "./deployment.ts";

export const createKeys = (): string => `first ${randomBytes(32).toString("base64")}`;

/** The client id of all callers in the tests. */
export const CLIENT = "agent";

export interface FileServerOptions extends Partial<Pick<DownloadOptions, "links" | "limits">> {
  /** For each team, the environment variables that connect it to its API; "" is for callers without a team. */
  readonly teams: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** The value of MIC_SECRET_KEYS. */
  readonly keys: string;
  readonly seconds?: number;
  readonly inlineBytes?: number;
}

const createCandidate = (id: string): CallerClaims => ({
  id,
  issuer: "https://login.example.org",
  subject: id,
  groups: ["of the token"],
});

/** The caller of a bearer token; the tests' tokens have the form `token of <caller>`. */
const callerFromToken = (authorization = ""): string | undefined => /^Bearer token of (.+)$/.exec(authorization)?.[1];

export async function startFileServer({
  teams,
  keys,
  seconds = 600,
  inlineBytes = 32_768,
  links = "ticket",
  limits,
}: FileServerOptions) {
  const encryption = createEncryption(readSecretKeys(keys));
  const compositions = new Map(Object.entries(teams).map(([team, env]) => [team, composeForTest(env)] as const));
  const recorded: object[] = [];
  const requestedGroups: (readonly string[])[] = [];
  const logged: string[] = [];
  const write = (facts: object, message: string) => void logged.push(JSON.stringify({ ...facts, message }));
  const log = { debug: write, info: write, warn: write, error: write };

  let isDatabaseDown = false;

  async function runtimeOf(claims: CallerClaims, team?: string): Promise<Runtime | undefined> {
    const { id: caller, issuer, subject } = claims;
    requestedGroups.push(claims.groups);
    if (isDatabaseDown) throw new Error("the database cannot be reached");
    const runtime = compositions.get(team ?? "")?.runtime;
    if (!runtime) return undefined;
    const { service } = runtime.ports;
    const holder = { issuer, subject, groups: [] };
    const linkOptions = { encryption, publicUrl: url, seconds, caller, holder, team, client: CLIENT, now: Date.now };
    const ports = { ...runtime.ports, files: createLinkedFiles({ ...linkOptions, service, inlineBytes }) };
    const own = tools.map((tool) => tool.create(ports));
    return { ...runtime, ports, tools: own, offered: new Map(own.map((tool) => [tool.name, tool])) };
  }

  const serve = createDownloads({
    encryption,
    runtimeOf,
    links,
    log,
    record: ({ caller, team, client }, event) => recorded.push({ caller, team, client, ...event }),
    traceId: () => undefined,
    ...(limits && { limits }),
  });
  const server = await startServer(
    {
      async serve(exchange) {
        const id = callerFromToken(exchange.request.headers.authorization);
        const resolveCaller = async () => {
          if (id === undefined) throw new RequestRefused(errorResponse(401, "Who calls?"));
          return createCandidate(id);
        };
        return (await serve(exchange, resolveCaller)) ? undefined : errorResponse(404, "Nothing.");
      },
      redact: (text) => text,
      log,
    },
    { address: "127.0.0.1", port: 0, limits: { ...LISTENER_LIMITS, maxConnections: 1_000 } },
  );
  const url = new URL(server.url).origin;
  onTestFinished(async () => {
    await server.drain(0, AbortSignal.abort());
    for (const { close } of compositions.values()) await close();
  });

  return {
    url,
    encryption,
    /** The audit rows of the downloads that have ended. */
    recorded,
    /** The groups for which a caller's runtime was requested, in order. */
    requestedGroups,
    /** All lines of the log. */
    logged,
    /** Removes a team, as `teams remove` does. */
    remove: (team: string) => compositions.delete(team),
    /** Makes the database unreachable from now on. */
    disconnectDatabase(): void {
      isDatabaseDown = true;
    },
    /** The URL of an MCP endpoint for this caller. */
    async mcpUrl(caller: string, team?: string): Promise<string> {
      const runtime = await runtimeOf(createCandidate(caller), team);
      if (!runtime) throw new Error(`no team ${team}`);
      return await serveRuntime(runtime);
    },
  };
}

export type FileServer = Awaited<ReturnType<typeof startFileServer>>;

interface AssetTicket {
  readonly caller: string;
  readonly team: string;
  readonly assetId: string;
  readonly holder?: Holder;
  readonly seconds?: number;
}

/** Creates the ticket of an asset's link, as any holder of the keys can. */
export const createAssetTicket = (
  encryption: Encryption,
  { caller, team, assetId, holder, seconds = 600 }: AssetTicket,
): Promise<string> =>
  encryption.encrypt(
    "download",
    caller,
    {
      kind: "asset",
      team,
      holder: holder ?? { issuer: "https://login.example.org", subject: caller, groups: [] },
      client: CLIENT,
      assetId,
      fileName: assetId,
    },
    seconds,
  );
