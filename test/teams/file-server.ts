// A deployment reduced to its files: runtimes of callers whose tools create links, and the server that serves those links.
import { onTestFinished } from "vitest";
import type { Runtime } from "../../src/mcp/runtime.ts";
import { createDownloads, type DownloadOptions } from "../../src/teams/downloads/downloads.ts";
import { createLinkedFiles, type Holder } from "../../src/teams/downloads/links.ts";
import { createEncryption, type Encryption, readSecretKeys } from "../../src/teams/encryption.ts";
import { LISTENER_LIMITS, startServer } from "../../src/transports/http/listener.ts";
import { errorResponse } from "../../src/transports/http/responses.ts";
import { tools } from "../../tools/index.ts";
import { composeForTest } from "../support/compose.ts";
import { connectHttp, type TestClient } from "../support/mcp.ts";
import { createKeyLine, ISSUER, serveRuntime } from "./deployment.ts";

/** The client id, and the caller who creates the links. */
export const CLIENT = "agent";
export const ANN = "ann";

export interface FileServerOptions extends Pick<DownloadOptions, "limits"> {
  /** For each team, the environment variables that connect it to its API; "" is for callers without a team. */
  readonly teams: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Maximum size of a file in a result (default 1,000 bytes). */
  readonly inlineBytes?: number;
}

/** Starts a file server with a new key, until the running test ends. */
export async function fileServerForTest({ teams, inlineBytes = 1_000, limits }: FileServerOptions) {
  const encryption = createEncryption(readSecretKeys(createKeyLine("first")));
  const compositions = new Map(Object.entries(teams).map(([team, env]) => [team, composeForTest(env)] as const));
  const recorded: object[] = [];
  const logged: string[] = [];
  const write = (facts: object, message: string) => void logged.push(JSON.stringify({ ...facts, message }));
  const log = { debug: write, info: write, warn: write, error: write };
  let isDatabaseDown = false;

  async function runtimeOf(_caller: unknown, team = ""): Promise<Runtime | undefined> {
    if (isDatabaseDown) throw new Error("the database cannot be reached");
    return compositions.get(team)?.runtime;
  }

  const serve = createDownloads({
    encryption,
    runtimeOf,
    links: "ticket",
    log,
    record: ({ caller, team, client }, event) => recorded.push({ caller, team, client, ...event }),
    traceId: () => undefined,
    ...(limits && { limits }),
  });
  const server = await startServer(
    {
      serve: async (exchange) =>
        (await serve(exchange, () => Promise.reject(new Error("a ticket needs no token"))))
          ? undefined
          : errorResponse(404, "Nothing."),
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
    /** All lines of the log. */
    logged,
    /** Removes a team, as `teams remove` does. */
    remove: (team: string) => compositions.delete(team),
    /** Makes the database unreachable from now on. */
    disconnectDatabase(): void {
      isDatabaseDown = true;
    },
    /** A client of ANN in this team, or without a team. */
    async connect(team?: string): Promise<TestClient> {
      const runtime = await runtimeOf(ANN, team);
      if (!runtime) throw new Error(`no team ${team}`);
      const { service } = runtime.ports;
      const holder = { issuer: ISSUER, subject: ANN, groups: [] };
      const linkOptions = { encryption, publicUrl: url, seconds: 600, caller: ANN, holder, team, client: CLIENT };
      const files = createLinkedFiles({ ...linkOptions, now: Date.now, service, inlineBytes });
      const ports = { ...runtime.ports, files };
      const own = tools.map((tool) => tool.create(ports));
      const offered = new Map(own.map((tool) => [tool.name, tool]));
      const client = await connectHttp("v2-modern", await serveRuntime({ ...runtime, ports, tools: own, offered }));
      onTestFinished(() => client.close());
      return client;
    },
  };
}

export type FileServer = Awaited<ReturnType<typeof fileServerForTest>>;

interface AssetTicket {
  readonly caller: string;
  readonly team: string;
  readonly assetId: string;
  readonly holder?: Holder;
  readonly seconds?: number;
}

/** Creates the ticket of an asset's link, as any holder of the keys can. */
export function createAssetTicket(encryption: Encryption, ticket: AssetTicket): Promise<string> {
  const { caller, team, assetId, holder = { issuer: ISSUER, subject: caller, groups: [] }, seconds = 600 } = ticket;
  const value = { kind: "asset", team, holder, client: CLIENT, assetId, fileName: assetId };
  return encryption.encrypt("download", caller, value, seconds);
}
