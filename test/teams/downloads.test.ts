// Tests files for remote callers: a small file is part of the result, and any other file gets a link that is valid for minutes.
import { createHash } from "node:crypto";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { connect } from "node:net";
import { describe, expect, onTestFinished } from "vitest";
import * as z from "zod/v4";
import type { Runtime } from "../../src/mcp/runtime.ts";
import { createDownloads, type DownloadOptions } from "../../src/teams/downloads/downloads.ts";
import { createLinkedFiles, withLinkedFiles } from "../../src/teams/downloads/links.ts";
import { createEncryption, readSecretKeys } from "../../src/teams/encryption.ts";
import { LISTENER_LIMITS, startServer } from "../../src/transports/http/listener.ts";
import { errorResponse } from "../../src/transports/http/responses.ts";
import { tools } from "../../tools/index.ts";
import { stubEnv } from "../api-client/client.ts";
import { serviceForTest } from "../emulator/service.ts";
import { FILE, submitJob } from "../emulator/work.ts";
import { composeForTest } from "../support/compose.ts";
import { emulatorForTest } from "../support/emulator.ts";
import { test as base } from "../support/fixtures.ts";
import { connectHttp, emulatorEnv } from "../support/mcp.ts";
import { answer, answerTruncated, flood } from "../support/stub.ts";
import { createKeyLine, ISSUER, serveRuntime } from "./deployment.ts";

const TEAM = "alpha";
/** The client id, and the caller who creates the links. */
const [CLIENT, ANN] = ["agent", "ann"];
const HOLDER = { issuer: ISSUER, subject: ANN, groups: [] };

/**
 * A deployment reduced to its files, with a new key, until the running test ends. `teams`: the environment variables that connect
 * each team to its API; "" is for callers without a team. `inlineMaxBytes`: maximum size of a file in a result.
 */
async function fileServerForTest(
  teams: Readonly<Record<string, Readonly<Record<string, string>>>>,
  { inlineMaxBytes = 1_000, limits }: { readonly inlineMaxBytes?: number } & Pick<DownloadOptions, "limits"> = {},
) {
  const encryption = createEncryption(readSecretKeys(createKeyLine("first")));
  const compositions = new Map(Object.entries(teams).map(([team, env]) => [team, composeForTest(env)] as const));
  const recorded: object[] = [];
  const logged: string[] = [];
  const write = (facts: object, message: string) => void logged.push(JSON.stringify({ ...facts, message }));
  const log = { isLevelEnabled: () => true, debug: write, info: write, warn: write, error: write };
  let isDatabaseDown = false;

  async function runtimeOf(_caller: unknown, team = ""): Promise<Runtime | undefined> {
    if (isDatabaseDown) throw new Error("the database cannot be reached");
    return compositions.get(team)?.runtime;
  }

  const serve = createDownloads({
    encryption,
    runtimeOf,
    log,
    record: ({ caller, team, client }, event) => recorded.push({ caller, team, client, ...event }),
    traceId: () => undefined,
    limits,
  });
  const server = await startServer(
    {
      serve: async (exchange) => ((await serve(exchange)) ? undefined : errorResponse(404, "Nothing.")),
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
    // The audit rows of the downloads that have ended, and all lines of the log.
    recorded,
    logged,
    /** Removes a team, as `teams remove` does. */
    remove: (team: string) => compositions.delete(team),
    disconnectDatabase(): void {
      isDatabaseDown = true;
    },
    async connect(team?: string) {
      const runtime = await runtimeOf(ANN, team);
      if (!runtime) throw new Error(`no team ${team}`);
      const { api: service } = runtime.ports;
      const linkOptions = {
        encryption,
        publicUrl: url,
        caller: ANN,
        holder: HOLDER,
        team,
        client: CLIENT,
      };
      const files = createLinkedFiles({ ...linkOptions, now: Date.now, service, inlineMaxBytes });
      const ports = { ...runtime.ports, files };
      const own = withLinkedFiles(tools);
      const offered = new Map(own.map((tool) => [tool.name, tool]));
      const client = await connectHttp("v2-modern", await serveRuntime({ ...runtime, ports, tools: own, offered }));
      onTestFinished(() => client.close());
      return client;
    },
  };
}

type FileServer = Awaited<ReturnType<typeof fileServerForTest>>;
const sha256 = (bytes: Uint8Array | string): string => createHash("sha256").update(bytes).digest("hex");

const LinkResult = z.looseObject({ url: z.url(), expiresAt: z.iso.datetime(), fileName: z.string() });
const Blocks = z.object({ content: z.array(z.looseObject({ type: z.string() })) });
const secondBlock = (raw: string) => Blocks.parse(JSON.parse(raw)).content[1];

const test = base
  .extend("fileServer", ({ stub }) => fileServerForTest({ [TEAM]: stubEnv(stub) }))
  .extend("agent", ({ fileServer }) => fileServer.connect(TEAM));

/** The body; undefined if it is interrupted. */
const readBody = (response: Response): Promise<Buffer | undefined> =>
  response.arrayBuffer().then(
    (bytes) => Buffer.from(bytes),
    () => undefined,
  );

test("a small text asset is returned completely in the result", async ({ stub, agent }) => {
  const text = "एक,1\r\nदो,2\r\n";
  const headers = { "content-type": "text/csv", "content-disposition": 'attachment; filename="n.csv"' };
  stub.expect(answer(200, text, headers));
  const { structured, text: summaryText, raw } = await agent.callTool("download_asset", { assetId: "a" });
  const { url } = LinkResult.parse(structured);
  const facts = { fileName: "n.csv", contentType: "text/csv", bytes: Buffer.byteLength(text), sha256: sha256(text) };
  expect(structured).toEqual({ summary: "n.csv is in this answer.", ...facts, url, expiresAt: expect.any(String) });
  expect(summaryText).toContain(facts.sha256);
  expect(secondBlock(raw)).toEqual({ type: "resource", resource: { uri: url, mimeType: "text/csv", text } });
  // A client that shows only structuredContent gets the text by the link.
  stub.expect(answer(200, text));
  expect(await readBody(await fetch(url))).toEqual(Buffer.from(text));
});

test("a small image asset is returned in the result", async ({ stub, agent }) => {
  const bytes = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 255]);
  stub.expect(answer(200, bytes, { "content-type": "image/png" }));
  const { structured, raw } = await agent.callTool("download_asset", { assetId: "p", fileName: "p.png" });
  expect(structured).toMatchObject({ bytes: 6, sha256: sha256(bytes), contentType: "image/png" });
  const resource = { uri: structured?.["url"], mimeType: "image/png", blob: bytes.toString("base64") };
  expect(secondBlock(raw)).toEqual({ type: "resource", resource });
});

test.for<[string, Buffer, string]>([
  ["one byte more than the limit", Buffer.alloc(1_001, "x"), "text/plain"],
  ["small and neither text nor image", Buffer.from([0, 1, 2, 255]), "application/zip"],
  ["declared as text, but not text", Buffer.from([0xff, 0xfe, 0]), "text/plain"],
])(
  "an asset that is %s gets a link, and is downloaded byte for byte",
  async ([, bytes, contentType], { stub, agent, fileServer }) => {
    const [fileName, size] = ["जिले.bin", bytes.length];
    const file = () => answer(200, bytes, { "content-type": contentType, "content-length": String(size) });
    stub.expect(file(), file());
    const { structured, text, raw } = await agent.callTool("download_asset", { assetId: "b", fileName });
    const { url, expiresAt } = LinkResult.parse(structured);
    const summary = `"${fileName}" can be downloaded by its link until ${expiresAt}.`;
    expect(structured).toEqual({ summary, fileName, contentType, bytes: size, url, expiresAt });
    expect(text).toContain(url);
    expect(secondBlock(raw)).toEqual({ type: "resource_link", uri: url, name: fileName, mimeType: contentType, size });
    const response = await fetch(url);
    expect(await readBody(response)).toEqual(bytes);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": contentType,
      "content-length": String(size),
      "content-disposition": `attachment; filename=____.bin; filename*=UTF-8''${encodeURIComponent(fileName)}`,
      "x-content-type-options": "nosniff",
      "content-security-policy": "default-src 'none'; sandbox",
      "cache-control": "no-store",
    });
    const row = { caller: ANN, team: TEAM, client: CLIENT, event: "download", resourceId: "b" };
    expect(fileServer.recorded).toEqual([{ ...row, outcome: "complete" }]);
  },
);

test("a preview of an asset returns its first lines and reads no more of it", async ({ stub, agent }) => {
  stub.expect(flood(200, Buffer.from("line\n".repeat(200)), 1_000_000_000, { "content-type": "text/plain" }));
  const { structured } = await agent.callTool("download_asset", { assetId: "long", preview: true });
  expect(structured).toMatchObject({ preview: "line\n".repeat(20) });
  // The API sent no length.
  expect(structured).not.toHaveProperty("bytes");
  expect(await stub.requests[0]?.closed).toBe(false);
});

test("the description of download_asset in a deployment names a link and no local path", async ({ agent }) => {
  const tool = (await agent.listTools()).find(({ name }) => name === "download_asset");
  expect(tool?.description).not.toContain("folder");
  const { properties } = z.looseObject({ properties: z.looseObject({}) }).parse(tool?.outputSchema);
  expect(Object.keys(properties)).toEqual(expect.arrayContaining(["url", "expiresAt", "fileName", "contentType"]));
  expect(JSON.stringify(tool?.outputSchema)).not.toContain('"path"');
});

describe("download links", () => {
  const body = "x".repeat(5_000);
  const ticketValue = { kind: "asset", team: TEAM, holder: HOLDER, client: CLIENT, assetId: "a", fileName: "a" };
  const createTicket = ({ encryption }: FileServer, seconds = 600) =>
    encryption.encrypt("download", ANN, ticketValue, seconds);
  const createLink = async (fileServer: FileServer): Promise<string> =>
    `${fileServer.url}/downloads/${await createTicket(fileServer)}`;
  /** The API sends a part of the body without a length, and then closes the connection. */
  const brokenStream = {
    readsBody: true,
    answer: (response: ServerResponse) => {
      response.writeHead(200, { "transfer-encoding": "chunked" });
      response.write("x".repeat(1_000), () => response.socket?.destroy());
    },
  };

  const alterTicket = (ticket: string): string => {
    const at = ticket.length - 40;
    return ticket.slice(0, at) + (ticket[at] === "A" ? "B" : "A") + ticket.slice(at + 1);
  };
  const createTaskToken = ({ encryption }: FileServer) => encryption.encrypt("task", ANN, ticketValue, 600);
  test.for<[string, number, (fileServer: FileServer) => Promise<string>]>([
    ["has expired", 410, (fileServer) => createTicket(fileServer, -1)],
    ["was altered", 404, async (fileServer) => alterTicket(await createTicket(fileServer))],
    ["was encrypted with other keys", 404, async () => await createTicket(await fileServerForTest({}))],
    ["was encrypted for another purpose", 404, createTaskToken],
    ["is empty", 404, async () => ""],
    ["is not a ticket", 404, async () => "x"],
  ])(
    "a link whose ticket %s returns %i, and nothing is sent to the API",
    async ([, status, createInvalid], { stub, fileServer }) => {
      const response = await fetch(`${fileServer.url}/downloads/${await createInvalid(fileServer)}`);
      expect(response.status).toBe(status);
      if (status === 410) expect(await response.text()).toContain("Call the tool again");
      expect(stub.requests).toEqual([]);
    },
  );

  test("a link accepts only GET, and returns 503 without the database and 404 after its team is removed", async ({
    fileServer,
  }) => {
    const url = await createLink(fileServer);
    const post = await fetch(url, { method: "POST" });
    expect([post.status, post.headers.get("allow")]).toEqual([405, "GET"]);
    fileServer.remove(TEAM);
    expect((await fetch(url)).status).toBe(404);
    expect(fileServer.recorded).toMatchObject([{ event: "download", outcome: "HTTP 404" }]);
    fileServer.disconnectDatabase();
    const response = await fetch(url);
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "5"]);
    expect(await response.text()).not.toContain("database");
  });

  test("a link maps status 404 of the API to 404, and any other error to 502", async ({ stub, fileServer }) => {
    const url = await createLink(fileServer);
    for (const [status, mapped] of [
      [404, 404],
      [403, 502],
    ] as const) {
      stub.expect(answer(status));
      const response = await fetch(url);
      expect(response.status).toBe(mapped);
      expect(response.headers.get("content-type")).toContain("text/plain");
    }
    const row = { event: "download", resourceId: "a" };
    expect(fileServer.recorded).toMatchObject([{ ...row, outcome: "HTTP 404" }, row]);
  });

  test.for([
    ["with a length", answerTruncated(200, body, 1_000)],
    ["without a length", brokenStream],
  ] as const)(
    "a download whose body %s is interrupted at the API is interrupted for the client, too, and logged without its link",
    async ([, step], { stub, fileServer }) => {
      stub.expect(step);
      const ticket = await createTicket(fileServer);
      const response = await fetch(`${fileServer.url}/downloads/${ticket}`);
      expect(response.status).toBe(200);
      expect(await readBody(response)).toBeUndefined();
      await expect.poll(() => fileServer.recorded).toMatchObject([{ outcome: "interrupted" }]);
      await expect.poll(() => fileServer.logged.length).toBeGreaterThan(0);
      for (const part of ticket.split(".")) if (part) expect(fileServer.logged.join("\n")).not.toContain(part);
    },
  );

  test("an interrupted download without a length resets the connection of an HTTP/1.0 client", async ({
    stub,
    fileServer,
  }) => {
    stub.expect(brokenStream);
    const socket = connect(Number(new URL(fileServer.url).port), "127.0.0.1");
    socket.resume().write(`GET ${new URL(await createLink(fileServer)).pathname} HTTP/1.0\r\nHost: x\r\n\r\n`);
    // A normal close would look like the end of the file.
    const [error] = await once(socket, "error");
    expect(error).toMatchObject({ code: "ECONNRESET" });
  });

  test("a download uses a slot until it ends, and the number of slots is limited", async ({ stub }) => {
    const fileServer = await fileServerForTest({ [TEAM]: stubEnv(stub) }, { limits: { all: 3, team: 2 } });
    const url = await createLink(fileServer);
    stub.respond(() => flood(200, Buffer.alloc(65_536, "x"), 20_000_000, { "content-length": "20000000" }));
    const running = await Promise.all([fetch(url), fetch(url)]);
    const refused = await fetch(url);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
    for (const response of running) expect((await readBody(response))?.length).toBe(20_000_000);
    await expect.poll(() => fileServer.recorded).toMatchObject([{ outcome: "complete" }, { outcome: "complete" }]);
    expect((await readBody(await fetch(url)))?.length).toBe(20_000_000);
  });
});

test("a state's rows are in the result; a link computes the country's rows, unless the arguments are too long", async () => {
  const emulator = await emulatorForTest({ requestsPerPeer: 600 });
  const env = { ...emulatorEnv(emulator), MIC_GEOGRAPHY_RATE_LIMIT: "600" };
  // A caller without a team can use geography.
  const fileServer = await fileServerForTest({ "": env });
  const client = await fileServer.connect();
  const saveTable = (source: string, args: object, fileName: string) =>
    client.callTool("save_table", { source, arguments: args, fileName });
  const state = await saveTable("list_districts", { state: "GA" }, "goa.csv");
  const goa = LinkResult.parse(state.structured);
  expect(goa).not.toHaveProperty("path");
  expect(state.text).toContain("in this answer");
  const csv = await (await fetch(goa.url)).text();
  expect(goa).toMatchObject({ fileName: "goa.csv", rows: csv.split("\r\n").length - 2, sha256: sha256(csv) });
  const resource = { uri: goa.url, mimeType: "text/csv; charset=utf-8", text: csv };
  expect(secondBlock(state.raw)).toEqual({ type: "resource", resource });

  const question = { level: "district", by: "mandalCount", waitSeconds: 45 };
  const country = await saveTable("rank_divisions", question, "all.csv");
  const all = LinkResult.extend({ rows: z.int(), totalRows: z.int() }).parse(country.structured);
  expect(all).not.toHaveProperty("sha256");
  expect(country.text).toContain(all.url);
  const response = await fetch(all.url);
  expect(response.headers.get("content-type")).toBe("text/csv; charset=utf-8");
  const lines = (await response.text()).split("\r\n");
  expect(lines[0]).toContain("districtCode");
  expect(lines).toHaveLength(all.totalRows + 2);
  expect(all.rows).toBe(all.totalRows);

  // Whitespace inside a name is kept; around it, it would be trimmed.
  const states = Array.from({ length: 60 }, () => `Andhra${" ".repeat(67)}Pradesh`);
  const { error } = await saveTable("rank_divisions", { level: "state", by: "name", states }, "states.csv");
  expect(error).toMatchObject({ kind: "invalid_arguments", next: expect.stringContaining("fewer states") });
});

test("a link to a list of jobs returns the jobs that exist when the link is opened", async () => {
  const service = await serviceForTest();
  const { workspaceId } = service.emulator;
  const fileServer = await fileServerForTest({ [TEAM]: emulatorEnv(service.emulator) }, { inlineMaxBytes: 0 });
  const client = await fileServer.connect(TEAM);
  const question = { source: "list_jobs", arguments: { workspaceId }, fileName: "jobs.csv" };
  const listed = await client.callTool("save_table", question);
  const { url, rows } = LinkResult.extend({ rows: z.int() }).parse(listed.structured);
  expect(listed.structured).not.toHaveProperty("sha256");
  const downloadIds = async () => (await (await fetch(url)).text()).trim().split("\r\n").slice(1);
  expect(await downloadIds()).toHaveLength(rows);
  const job = await submitJob(service, FILE.succeeds);
  const now = await downloadIds();
  expect(now).toHaveLength(rows + 1);
  expect(now.join("\n")).toContain(job.id);
});
