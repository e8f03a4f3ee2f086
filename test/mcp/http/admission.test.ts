// Tests admission over HTTP: requests with the MIC_HTTP_TOKEN or, without one, those of the server's own user on Linux.
import { execFile, spawnSync } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod/v4";
import { stubEnv } from "../../api-client/client.ts";
import { capabilitySet, createJob, enveloped, job } from "../../contract/samples.ts";
import { runInProcess as run } from "../../support/command.ts";
import { openForFile } from "../../support/for-file.ts";
import { clientRevisions, connectHttp } from "../../support/mcp.ts";
import { answer, stubForTest } from "../../support/stub.ts";
import { folderForTest } from "../../support/temporary-folder.ts";
import { describeUnless } from "../../support/unless.ts";
import { modernEnvelope } from "../modern-envelope.ts";
import { start } from "../stdio/child.ts";
import {
  ACCEPT,
  clientFactories,
  connectLegacyClient,
  createModernClient,
  exchangeBytes,
  initializeMessage,
  post,
  send,
} from "./raw-client.ts";
import { launchHttp, startHttp } from "./server.ts";

const TOKEN = "t0ken-0123456789.abcdef~+/==";
const authorized = { authorization: `Bearer ${TOKEN}` };

describe("with MIC_HTTP_TOKEN", () => {
  const server = openForFile(
    () => launchHttp({ args: ["--emulator"], env: { MIC_HTTP_TOKEN: TOKEN } }),
    ({ kill }) => kill(),
  );
  const guardedUrl = () => server().url;

  test.each(clientRevisions)("only clients with the token are served (%s)", async (revision) => {
    const client = await connectHttp(revision, guardedUrl(), { token: TOKEN });
    onTestFinished(() => client.close());
    expect(await client.callTool("list_jobs", { limit: 1 })).toMatchObject({ isError: false });
    expect((await client.readResource("mic://geography/states")).text).toContain("Karnataka");
    for (const options of [{}, { token: `${TOKEN}=` }])
      await expect(connectHttp(revision, guardedUrl(), options)).rejects.toThrow(/401|MIC_HTTP_TOKEN/);
  });

  const bearer = (token: string) => `authorization: Bearer ${token}`;
  const REALM = 'Bearer realm="mic-mcp"';
  const WRONG = `${REALM}, error="invalid_token"`;

  // The challenge contains an error only if the request has a token (RFC 6750, 3.1).
  test.each<readonly [headers: readonly string[], challenge: string]>([
    [[], REALM],
    [["authorization:"], REALM],
    [["authorization: Bearer"], REALM],
    [[`authorization: ${TOKEN}`], REALM],
    [[`authorization: Basic ${TOKEN}`], REALM],
    [[bearer(`${TOKEN}x`)], WRONG],
    [[bearer(TOKEN.slice(0, -1))], WRONG],
    [[bearer(TOKEN.toUpperCase())], WRONG],
    [[bearer("x".repeat(12_000))], WRONG],
    [[bearer(`${TOKEN} ${TOKEN}`)], REALM],
    [[bearer(TOKEN), bearer(TOKEN)], REALM],
    [[bearer("x"), bearer(TOKEN)], REALM],
  ])(
    "returns 401 with a challenge and without the token on every path, for the headers %j",
    async (headers, challenge) => {
      const url = guardedUrl();
      for (const target of [
        ...["POST /mcp", "GET /mcp", "DELETE /mcp", "OPTIONS /mcp", `GET /mcp?access_token=${TOKEN}`],
        ...["GET /healthz", "GET /readyz", "GET /.well-known/oauth-protected-resource"],
      ]) {
        // The server also closes the connection without a request to do so.
        const lines = [`${target} HTTP/1.1`, `host: ${new URL(url).host}`, ...headers, "content-length: 0", "", ""];
        const text = await exchangeBytes(url, [lines.join("\r\n")]);
        expect(text).toMatch(/^HTTP\/1\.1 401 /);
        expect(text).toContain(`www-authenticate: ${challenge}\r\n`);
        expect(text).not.toContain(TOKEN);
      }
    },
  );

  test("the scheme is case-insensitive, and /healthz requires the token", async () => {
    const url = guardedUrl();
    for (const scheme of ["bearer", "BEARER"])
      expect((await post(url, initializeMessage(), { authorization: `${scheme} ${TOKEN}` }).answer).status).toBe(200);
    const health = await send(new URL("/healthz", url).href, { method: "GET", headers: authorized }).answer;
    expect(health).toMatchObject({ status: 200, body: '{"status":"ok"}' });
  });

  test("a session id does not replace the token, and a foreign origin is refused before the token is checked", async () => {
    const url = guardedUrl();
    const { headers } = await connectLegacyClient(url, {}, authorized);
    const { authorization: _, ...sessionOnly } = headers;
    const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
    const refused = await post(url, ping, sessionOnly).answer;
    expect(refused.status).toBe(401);
    expect(refused.messages[0]?.error?.message).toContain("MIC_HTTP_TOKEN");
    expect((await post(url, ping, headers).answer).status).toBe(200);
    const foreign = await post(url, ping, { origin: "http://evil.example" }).answer;
    expect([foreign.status, foreign.headers["www-authenticate"]]).toEqual([403, undefined]);
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
    const responses = JSON.stringify([
      await client.callTool("get_capabilities", { workspaceId: "micws_1" }),
      await client.callTool("get_job", { jobId: "job-1" }),
      await client.callTool("list_jobs", { workspaceId: "micws_1", [TOKEN]: 1 }),
      await client.callTool(TOKEN).catch((error: unknown) => String(error)),
    ]);
    expect(responses).toContain("[redacted]");
    expect(responses + tokenServer.stdout() + tokenServer.stderr()).not.toContain(TOKEN);
    expect(tokenServer.stderr()).toContain('"request"');
  });

  test("status and doctor redact the token, even in other settings", async () => {
    const env = { MIC_HTTP_TOKEN: TOKEN, MIC_BASE_URL: `http://127.0.0.1:9/${encodeURI(TOKEN)}` };
    for (const args of [["status"], ["status", "--json"], ["doctor"], ["doctor", "--json"]]) {
      const { stdout, stderr } = await run(args, { env });
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

const json = { "content-type": "application/json", accept: ACCEPT };
const discover = { jsonrpc: "2.0", id: 1, method: "server/discover", params: { _meta: modernEnvelope() } };
const modernHeaders = { ...json, "mcp-protocol-version": "2026-07-28", "mcp-method": "server/discover" };
const everyEndpoint = JSON.stringify([
  ["/mcp", { method: "POST", headers: json, body: JSON.stringify(initializeMessage()) }],
  ["/mcp", { method: "POST", headers: modernHeaders, body: JSON.stringify(discover) }],
  ["/healthz", { method: "GET" }],
]);

/** Runs a script of Node as another user; returns the JSON that it prints. */
async function runAs(uid: number, script: string, ...args: readonly string[]): Promise<unknown> {
  const options = { uid, gid: uid, cwd: "/" };
  const { stdout } = await promisify(execFile)(process.execPath, ["-e", script, ...args], options);
  return stdout === "" ? undefined : JSON.parse(stdout);
}

const Responses = z.array(z.object({ status: z.number(), body: z.string() }));
const statusesOf = (responses: z.infer<typeof Responses>) => responses.map(({ status }) => status);

/** The responses of every endpoint to a process of another user. */
async function responsesTo(uid: number, url: string) {
  const script = `(async () => {
    const heard = [];
    for (const [path, init] of JSON.parse(process.argv[2])) {
      const response = await fetch(new URL(path, process.argv[1]), init);
      heard.push({ status: response.status, body: await response.text() });
    }
    console.log(JSON.stringify(heard));
  })()`;
  return Responses.parse(await runAs(uid, script, url, everyEndpoint));
}

describeUnless(cannotSwitchUser, "without it, on Linux", () => {
  test.each(["127.0.0.1", "::1"])(
    "requests of another user are refused on %s, with the reason, at every endpoint",
    async (host) => {
      const server = await startHttp({ args: ["--emulator", "--host", host], env: { MIC_LOG_LEVEL: "info" } });
      const responses = await responsesTo(OTHER_USER, server.url);
      expect(statusesOf(responses)).toEqual([403, 403, 403]);
      for (const { body } of responses) expect(body).toMatch(new RegExp(`uid ${OTHER_USER}.*MIC_HTTP_TOKEN`));
      expect(server.stderr()).toContain(`"uid":${OTHER_USER}`);
      for (const connectClient of Object.values(clientFactories))
        expect((await (await connectClient(server.url)).request(7, "tools/list").answer).status).toBe(200);
    },
  );

  test("a server of an ordinary user serves only that user and root", async () => {
    const url = await startAs(OTHER_USER);
    expect(statusesOf(await responsesTo(OTHER_USER, url))).toEqual([200, 200, 200]);
    expect(statusesOf(await responsesTo(THIRD_USER, url))).toEqual([403, 403, 403]);
    expect((await post(url, initializeMessage()).answer).status).toBe(200);
  });

  // Linux lists a socket that its process has closed under uid 0. If the server took it for a socket of root, every user could
  // send actions.
  test("a user who sends an action and disconnects is not taken for root", async () => {
    const stub = await stubForTest();
    stub.respond(() => answer(202, enveloped(job)));
    const { url, stderr } = await startHttp({ env: { ...stubEnv(stub), MIC_LOG_LEVEL: "info" } });
    const args = { ...createJob, clientReference: "a stranger's" };
    const params = { ...discover.params, name: "submit_job", arguments: args };
    const body = JSON.stringify({ ...discover, method: "tools/call", params });
    const headers = { ...modernHeaders, "mcp-method": "tools/call", "mcp-name": "submit_job" };
    const fields = Object.entries({ ...headers, host: new URL(url).host, "content-length": String(body.length) });
    const head = ["POST /mcp HTTP/1.1", ...fields.map(([name, value]) => `${name}: ${value}`)];
    const script = `const [url, text] = process.argv.slice(1); const { port, hostname } = new URL(url);
      for (let n = 0; n < 50; n++) {
        const socket = require("node:net").connect(port, hostname, () => socket.write(text, () => socket.destroy()));
        socket.on("error", () => 0);
      }`;
    await runAs(OTHER_USER, script, url, `${head.join("\r\n")}\r\n\r\n${body}`);
    await expect.poll(stderr).toContain("refused a connection");
    // This request runs after the refused ones. The same bytes are an action if the server's own user sends them.
    expect((await createModernClient(url).call(1, "submit_job", createJob).answer).status).toBe(200);
    expect(stub.requests).toHaveLength(1);
    expect((await send(url, { headers, body }).answer).status).toBe(200);
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

/** Starts the built server as this user, with separate folders, and returns its URL. */
async function startAs(uid: number): Promise<string> {
  const folder = await folderForTest();
  spawnSync("chown", [String(uid), folder]);
  const launcher = ["setpriv", `--reuid=${uid}`, `--regid=${uid}`, "--clear-groups"];
  const env = { HOME: folder, MIC_STATE_DIR: join(folder, "state") };
  const program = start(["serve", "--http", "--emulator"], { env, launcher });
  return z.object({ url: z.url() }).parse(await program.next()).url;
}
