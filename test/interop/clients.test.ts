// Tests real clients against the built server: each connects, lists every tool, and calls tools if it can without a login.
import { describe, expect } from "vitest";
import * as z from "zod/v4";
import { startHttp } from "../mcp/http/server.ts";
import { startForwarder } from "../support/forwarder.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { isThorough } from "../support/thorough.ts";
import { TOOL_NAMES } from "../tools/catalogue.ts";
import { type Client, clients } from "./clients.ts";
import { testUnless } from "./run.ts";
import { createTappedServer, type Exchange, Message, pairExchanges } from "./wire.ts";

const Listed = z.object({ tools: z.array(z.object({ name: z.string() })) });

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function expectUse({ firstMethod }: Client, exchanges: readonly Exchange[]): void {
  expect(exchanges[0]?.method).toBe(firstMethod);
  expect(exchanges.filter(({ error }) => error !== undefined)).toEqual([]);
  // The response to a subscription comes when it ends.
  const unanswered = exchanges.filter(({ method, result }) => result === undefined && !method.endsWith("/listen"));
  expect(unanswered).toEqual([]);
  const lists = exchanges.filter(({ method }) => method === "tools/list");
  expect(lists).not.toHaveLength(0);
  for (const { result } of lists) expect(Listed.parse(result).tools.map(({ name }) => name)).toEqual(TOOL_NAMES);
  const calls = exchanges.filter(({ method }) => method === "tools/call");
  expect(calls.map(({ params }) => params.name)).toContain("list_districts");
  for (const { result } of calls) expect(result).toMatchObject({ structuredContent: expect.anything() });
  for (const { result } of calls) expect(result?.["isError"]).not.toBe(true);
  const reads = exchanges.filter(({ params }) => params["uri"] === "mic://geography/states");
  expect(JSON.stringify(reads.map(({ result }) => result))).toContain("Karnataka");
}

/** The JSON-RPC messages of a body: one as JSON, or one for each event of a stream. Any other body has none. */
function parseMessages(from: "client" | "server", body: Buffer, type = "") {
  const texts = type.startsWith("text/event-stream")
    ? [...body.toString().matchAll(/^data: ?(.+)$/gm)].flatMap(([, data = ""]) => data)
    : type.startsWith("application/json")
      ? [body.toString()]
      : [];
  return texts.map((text) => ({ from, ...Message.parse(JSON.parse(text)) }));
}

/** A recording HTTP proxy between a client and the server. */
async function startHttpTap(upstream: string) {
  const recorded: (() => readonly Exchange[])[] = [];
  const url = await startForwarder([upstream], (request, body, response) => {
    const chunks: Buffer[] = [];
    response.on("data", (chunk: Buffer) => chunks.push(chunk));
    // A stream may not have ended yet.
    recorded.push(() =>
      pairExchanges([
        ...parseMessages("client", Buffer.concat(body), request.headers["content-type"]),
        ...parseMessages("server", Buffer.concat(chunks), response.headers["content-type"]),
      ]),
    );
  });
  return { url: `${url}/mcp`, exchanges: () => recorded.flatMap((read) => read()) };
}

/** How each transport is served, and the checks after the client is done. */
const transports: Readonly<Record<string, (client: Client) => Promise<void>>> = {
  async stdio(client) {
    const home = await folderForTest();
    const server = createTappedServer(home, ["serve", "--emulator"]);
    await client.use({ kind: "stdio", command: server.command, args: server.args }, home);
    await expect.poll(() => server.readCapture().pids.filter(isAlive)).toEqual([]);
    const { pids, exits, exchanges, log } = server.readCapture();
    expect(pids).not.toEqual([]);
    expect(exits.filter((code) => code !== "0")).toEqual([]);
    expect(log).toBe("");
    expectUse(client, exchanges);
  },
  async "http with MIC_HTTP_TOKEN"(client) {
    const token = "a-token-0123456789-._~+/=";
    const server = await startHttp({ args: ["--emulator"], env: { MIC_HTTP_TOKEN: token } });
    const tap = await startHttpTap(server.url);
    await client.use({ kind: "http", url: tap.url, token }, await folderForTest());
    expectUse(client, tap.exchanges());
    expect(server.stderr()).toBe("");
    server.process.kill("SIGTERM");
    expect(await server.exit).toMatchObject({ code: 0 });
  },
};

/** In each run: Codex on stdio, and the newer Inspector on HTTP with a token. test/mcp uses the clients of both SDKs. */
const ALWAYS_RUN: Readonly<Record<string, string>> = { stdio: "Codex", "http with MIC_HTTP_TOKEN": "MCP Inspector" };
const isLeftToCi = (transport: string, { firstMethod, name }: Client) =>
  !isThorough &&
  (!name.startsWith(ALWAYS_RUN[transport] ?? "none") || (transport !== "stdio" && firstMethod === "initialize"));

describe.each(Object.entries(transports))("over %s", (transport, verifyClient) => {
  for (const client of clients) {
    const missing = client.missing ?? (isLeftToCi(transport, client) ? "MIC_TEST_ALL is not 1" : undefined);
    // These programs are not ours, so a failed run is retried twice.
    const options = { retry: 2 };
    testUnless(missing, `${client.name} connects, lists and calls tools, and reads a resource`, options, () =>
      verifyClient(client),
    );
  }
});
