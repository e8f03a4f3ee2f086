// Tests admission over HTTP: requests with the MIC_HTTP_TOKEN or, without one, those of the server's own user on Linux.
import { execFile, spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod/v4";
import { stubEnv } from "../../api-client/client.ts";
import { capabilitySet, createJob, enveloped, job } from "../../contract/samples.ts";
import { runInProcess as run } from "../../support/command.ts";
import { clientRevisions, connectHttp } from "../../support/mcp.ts";
import { answer, stubForTest } from "../../support/stub.ts";
import { modernEnvelope } from "../modern-envelope.ts";
import { start } from "../stdio/child.ts";
import {
  ACCEPT,
  clientFactories,
  createModernClient,
  exchangeBytes,
  initializeMessage,
  post,
  send,
} from "./raw-client.ts";
import { type HttpProgram, launchHttp, startHttp } from "./server.ts";

const TOKEN = "t0ken-0123456789.abcdef~+/==";
const authorized = { authorization: `Bearer ${TOKEN}` };

describe("with MIC_HTTP_TOKEN", () => {
  let server: HttpProgram | undefined;
  beforeAll(async () => {
    server = await launchHttp({ args: ["--emulator"], env: { MIC_HTTP_TOKEN: TOKEN } });
  });
  afterAll(() => server?.kill());
  const guardedUrl = () => server?.url ?? "";

  test.each(clientRevisions)("only clients with the token are served (%s)", async (revision) => {
    const client = await connectHttp(revision, guardedUrl(), { token: TOKEN });
    onTestFinished(() => client.close());
    expect(await client.callTool("list_jobs", { limit: 1 })).toMatchObject({ isError: false });
    expect((await client.readResource("mic://geography/states")).text).toContain("Karnataka");
    for (const options of [{}, { token: `${TOKEN}=` }])
      await expect(connectHttp(revision, guardedUrl(), options)).rejects.toThrow(/401|MIC_HTTP_TOKEN/);
  });

  test.each([
    ["none", []],
    ["an empty one", ["authorization:"]],
    ["a scheme alone", ["authorization: Bearer"]],
    ["the token alone", [`authorization: ${TOKEN}`]],
    ["another scheme", [`authorization: Basic ${TOKEN}`]],
    ["more than it", [`authorization: Bearer ${TOKEN}x`]],
    ["less than it", [`authorization: Bearer ${TOKEN.slice(0, -1)}`]],
    ["another case", [`authorization: Bearer ${TOKEN.toUpperCase()}`]],
    ["two tokens in one", [`authorization: Bearer ${TOKEN} ${TOKEN}`]],
    ["a list", [`authorization: Bearer ${TOKEN}, Bearer ${TOKEN}`]],
    ["two headers", [`authorization: Bearer ${TOKEN}`, `authorization: Bearer ${TOKEN}`]],
    ["a wrong header before it", ["authorization: Bearer x", `authorization: Bearer ${TOKEN}`]],
    ["another header", [`x-api-key: ${TOKEN}`]],
    ["a very long one", [`authorization: Bearer ${"x".repeat(12_000)}`]],
  ])(
    "returns 401 with a challenge and without the token on every path, for the Authorization header: %s",
    async (_, headers) => {
      const url = guardedUrl();
      const { host } = new URL(url);
      const body = JSON.stringify(initializeMessage());
      for (const [method, path] of [
        ["POST", "/mcp"],
        ["GET", "/mcp"],
        ["DELETE", "/mcp"],
        ["OPTIONS", "/mcp"],
        ["GET", "/healthz"],
        ["GET", "/readyz"],
        ["GET", `/mcp?access_token=${TOKEN}`],
        ["GET", "/.well-known/oauth-protected-resource"],
      ]) {
        const json = ["content-type: application/json", `accept: ${ACCEPT}`, `content-length: ${body.length}`];
        const [fields, content] = method === "POST" ? [json, body] : [[], ""];
        const request = [`${method} ${path} HTTP/1.1`, `host: ${host}`, ...headers, ...fields, "", content];
        // The server also closes the connection without a request to do so.
        const text = await exchangeBytes(url, [request.join("\r\n")]);
        expect(text).toMatch(/^HTTP\/1\.1 401 /);
        expect(text).toMatch(/^www-authenticate: Bearer realm="mic-mcp"/im);
        expect(text).not.toMatch(/mcp-session-id/i);
        expect(text).not.toContain(TOKEN);
      }
    },
  );

  test("the challenge contains an error only if the request has a token (RFC 6750, 3.1)", async () => {
    const without = await post(guardedUrl(), initializeMessage()).answer;
    expect(without.headers["www-authenticate"]).toBe('Bearer realm="mic-mcp"');
    expect(without.messages[0]?.error?.message).toContain("MIC_HTTP_TOKEN");
    const wrong = await post(guardedUrl(), initializeMessage(), { authorization: "Bearer another-token-0123" }).answer;
    expect(wrong.headers["www-authenticate"]).toBe('Bearer realm="mic-mcp", error="invalid_token"');
  });

  test("the scheme is case-insensitive, and /healthz requires the token", async () => {
    const url = guardedUrl();
    for (const scheme of ["Bearer", "bearer", "BEARER"])
      expect((await post(url, initializeMessage(), { authorization: `${scheme} ${TOKEN}` }).answer).status).toBe(200);
    const health = await send(new URL("/healthz", url).href, { method: "GET", headers: authorized }).answer;
    expect(health).toMatchObject({ status: 200, body: '{"status":"ok"}' });
  });

  test("a session id does not replace the token", async () => {
    const url = guardedUrl();
    const initialized = await post(url, initializeMessage(), authorized).answer;
    const sessionHeaders = {
      "mcp-session-id": String(initialized.headers["mcp-session-id"]),
      "mcp-protocol-version": "2025-06-18",
    };
    const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
    expect((await post(url, ping, sessionHeaders).answer).status).toBe(401);
    expect((await post(url, ping, { ...sessionHeaders, ...authorized }).answer).status).toBe(200);
  });

  test("a request with a foreign origin is refused before its token is checked", async () => {
    const url = guardedUrl();
    const refused = await post(url, initializeMessage(), { origin: "http://evil.example" }).answer;
    expect([refused.status, refused.headers["www-authenticate"]]).toEqual([403, undefined]);
  });

  test("the token is redacted in every result, error and log", async () => {
    const stub = await stubForTest();
    stub.respond(({ target }) =>
      target.includes("/capabilities")
        ? answer(200, enveloped({ ...capabilitySet, workspaceId: TOKEN }))
        : answer(404, `${TOKEN} is not here`),
    );
    const tokenServer = await startHttp({ env: { ...stubEnv(stub), MIC_LOG_LEVEL: "debug", MIC_HTTP_TOKEN: TOKEN } });
    const client = await connectHttp("v2-modern", tokenServer.url, { token: TOKEN });
    onTestFinished(() => client.close());
    const responses = [
      await client.callTool("get_capabilities", { workspaceId: "micws_1" }),
      await client.callTool("get_job", { jobId: "job-1" }),
      await client.callTool("list_jobs", { workspaceId: "micws_1", [TOKEN]: 1 }),
      await client.callTool(TOKEN).catch((error: unknown) => String(error)),
    ];
    const wrong = await send(tokenServer.url, { method: "GET", headers: authorized }).answer;
    expect(JSON.stringify([responses, wrong.body])).toContain("[redacted]");
    expect(JSON.stringify([responses, wrong.body, tokenServer.stdout(), tokenServer.stderr()])).not.toContain(TOKEN);
    expect(tokenServer.stderr()).toContain('"request"');
  });

  test("status and doctor redact the token, even in other settings", async () => {
    const env = { MIC_HTTP_TOKEN: TOKEN, MIC_BASE_URL: `http://127.0.0.1:9/${encodeURI(TOKEN)}` };
    const commands = [["status"], ["status", "--json"], ["doctor"], ["doctor", "--json"]];
    for (const { stdout, stderr } of await Promise.all(commands.map((args) => run(args, { env })))) {
      expect(stdout).toContain("[redacted]");
      expect(stdout + stderr).not.toContain(TOKEN);
    }
  });
});

const [OTHER_USER, THIRD_USER] = [54_321, 54_322];
const cannotSwitchUser =
  process.platform !== "linux"
    ? "not Linux"
    : spawnSync(process.execPath, ["-e", "0"], { uid: OTHER_USER, gid: OTHER_USER }).status === 0
      ? undefined
      : "only root can be somebody else";
const otherUserTitle = `without it, on Linux${cannotSwitchUser === undefined ? "" : ` (skipped: ${cannotSwitchUser})`}`;

const Responses = z.array(z.object({ status: z.number(), body: z.string() }));
type Request = readonly [
  path: string,
  init: { readonly method: string; readonly headers: object; readonly body?: string },
];

/** Runs a script of Node as another user; returns the JSON that it prints. */
async function runAs(uid: number, script: string, ...args: readonly string[]): Promise<unknown> {
  const options = { uid, gid: uid, cwd: "/" };
  const { stdout } = await promisify(execFile)(process.execPath, ["-e", script, ...args], options);
  return stdout === "" ? undefined : JSON.parse(stdout);
}

/** The responses to these requests from a process of another user. */
async function responsesTo(uid: number, url: string, requests: readonly Request[]) {
  const script = `(async () => {
    const heard = [];
    for (const [path, init] of JSON.parse(process.argv[2])) {
      const response = await fetch(new URL(path, process.argv[1]), init);
      heard.push({ status: response.status, body: await response.text() });
    }
    console.log(JSON.stringify(heard));
  })()`;
  return Responses.parse(await runAs(uid, script, url, JSON.stringify(requests)));
}

const json = { "content-type": "application/json", accept: ACCEPT };
const discover = { jsonrpc: "2.0", id: 1, method: "server/discover", params: { _meta: modernEnvelope() } };
const modernHeaders = { ...json, "mcp-protocol-version": "2026-07-28", "mcp-method": "server/discover" };
const everyEndpoint: readonly Request[] = [
  ["/mcp", { method: "POST", headers: json, body: JSON.stringify(initializeMessage()) }],
  ["/mcp", { method: "POST", headers: modernHeaders, body: JSON.stringify(discover) }],
  ["/healthz", { method: "GET", headers: {} }],
];
const statusesOf = (responses: z.infer<typeof Responses>) => responses.map(({ status }) => status);

describe.skipIf(cannotSwitchUser !== undefined)(otherUserTitle, () => {
  test.each(["127.0.0.1", "::1"])(
    "requests of another user are refused on %s, with the reason, at every endpoint",
    async (host) => {
      const server = await startHttp({ args: ["--emulator", "--host", host], env: { MIC_LOG_LEVEL: "info" } });
      const responses = await responsesTo(OTHER_USER, server.url, everyEndpoint);
      expect(statusesOf(responses)).toEqual([403, 403, 403]);
      for (const { body } of responses) expect(body).toMatch(new RegExp(`uid ${OTHER_USER}.*MIC_HTTP_TOKEN`));
      expect(server.stderr()).toContain(`"uid":${OTHER_USER}`);
      for (const connectClient of Object.values(clientFactories))
        expect((await (await connectClient(server.url)).request(7, "tools/list").answer).status).toBe(200);
    },
  );

  test("a server of an ordinary user serves only that user and root", async () => {
    const server = await startAs(OTHER_USER);
    expect(statusesOf(await responsesTo(OTHER_USER, server.url, everyEndpoint))).toEqual([200, 200, 200]);
    expect(statusesOf(await responsesTo(THIRD_USER, server.url, everyEndpoint))).toEqual([403, 403, 403]);
    expect((await post(server.url, initializeMessage()).answer).status).toBe(200);
  });

  // Linux lists a socket that its process has closed under uid 0. If the server took it for a socket of root, every user could
  // send actions.
  test("a user who sends an action and disconnects is not taken for root", async () => {
    const stub = await stubForTest();
    stub.respond(() => answer(202, enveloped(job)));
    const server = await startHttp({ env: { ...stubEnv(stub), MIC_LOG_LEVEL: "info" } });
    const { url } = server;
    const params = {
      ...discover.params,
      name: "submit_job",
      arguments: { ...createJob, clientReference: "a stranger's" },
    };
    const body = JSON.stringify({ ...discover, method: "tools/call", params });
    const requestHeaders = {
      ...json,
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": "submit_job",
      "content-length": String(body.length),
    };
    const fields = Object.entries(requestHeaders).map(([name, value]) => `${name}: ${value}`);
    const head = ["POST /mcp HTTP/1.1", `host: ${new URL(url).host}`, ...fields];
    const script = `const [url, text] = process.argv.slice(1); const { port, hostname } = new URL(url);
      for (let n = 0; n < 50; n++) {
        const socket = require("node:net").connect(port, hostname, () => socket.write(text, () => socket.destroy()));
        socket.on("error", () => 0);
      }`;
    await runAs(OTHER_USER, script, url, `${head.join("\r\n")}\r\n\r\n${body}`);
    await expect.poll(server.stderr).toContain("refused a connection");
    // This request runs after the refused ones. The same bytes are an action if the server's own user sends them.
    expect((await createModernClient(url).call(1, "submit_job", createJob).answer).status).toBe(200);
    expect(stub.requests).toHaveLength(1);
    expect((await send(url, { headers: requestHeaders, body }).answer).status).toBe(200);
    expect(stub.requests).toHaveLength(2);
  });

  test("the user of an IPv6 socket is identified, for each request of a connection", async () => {
    const { url } = await startHttp({ args: ["--emulator"] });
    const { port } = new URL(url);
    const request = `GET /healthz HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n\r\n`;
    const script = `const [port, text] = process.argv.slice(1); let heard = "";
      const socket = require("node:net").connect(port, "::ffff:127.0.0.1", () => socket.write(text));
      socket.on("data", (part) => { heard += part; if (/"}.*"}/s.test(heard)) socket.end(); });
      socket.on("close", () => console.log(JSON.stringify(heard.match(/HTTP.1.1 \\d+/g))));`;
    const statusLinesFor = (uid: number) => runAs(uid, script, port, request + request);
    expect(await statusLinesFor(process.getuid?.() ?? 0)).toEqual(["HTTP/1.1 200", "HTTP/1.1 200"]);
    expect(await statusLinesFor(OTHER_USER)).toEqual(["HTTP/1.1 403"]);
  });
});

/** Starts the built server as this user, with separate folders. */
async function startAs(uid: number): Promise<Pick<HttpProgram, "url">> {
  const folder = await mkdtemp(join(tmpdir(), "mic-mcp-user-"));
  spawnSync("chown", [String(uid), folder]);
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const launcher = ["setpriv", `--reuid=${uid}`, `--regid=${uid}`, "--clear-groups"];
  const env = { HOME: folder, MIC_STATE_DIR: join(folder, "state") };
  const program = start(["serve", "--http", "--emulator"], { env, launcher });
  return z.object({ url: z.url() }).parse(await program.next());
}
