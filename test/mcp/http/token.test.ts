// Tests the bearer token of serve --http: MIC_HTTP_TOKEN, the token in the state folder, and --no-token.
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  discoverAuthorizationServerMetadata,
  discoverOAuthProtectedResourceMetadata,
  registerClient,
} from "@modelcontextprotocol/sdk/client/auth.js";
import { describe, expect, onTestFinished, test } from "vitest";
import { stubEnv } from "../../api-client/client.ts";
import { capabilitySet, enveloped } from "../../contract/samples.ts";
import { runInProcess as run } from "../../support/command.ts";
import { openForFile } from "../../support/for-file.ts";
import { clientRevisions, connectHttp } from "../../support/mcp.ts";
import { answer, stubForTest } from "../../support/stub.ts";
import { folderForTest } from "../../support/temporary-folder.ts";
import { posixMissing, testUnless } from "../../support/unless.ts";
import { connectLegacyClient, exchangeBytes, initializeMessage, post, send } from "./raw-client.ts";
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
  ])("returns 401 with a challenge and without the token, for the headers %j", async (headers, challenge) => {
    const url = guardedUrl();
    for (const target of [
      ...["POST /mcp", "GET /mcp", "DELETE /mcp", "OPTIONS /mcp", `GET /mcp?access_token=${TOKEN}`],
      ...["GET /healthz", "GET /readyz"],
    ]) {
      // The server also closes the connection without a request to do so.
      const lines = [`${target} HTTP/1.1`, `host: ${new URL(url).host}`, ...headers, "content-length: 0", "", ""];
      const text = await exchangeBytes(url, [lines.join("\r\n")]);
      expect(text).toMatch(/^HTTP\/1\.1 401 /);
      expect(text).toContain(`www-authenticate: ${challenge}\r\n`);
      expect(text).not.toContain(TOKEN);
    }
  });

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

  test("doctor redacts the token, even in other settings", async () => {
    const env = { MIC_HTTP_TOKEN: TOKEN, MIC_BASE_URL: `http://127.0.0.1:9/${encodeURI(TOKEN)}` };
    for (const args of [["doctor"], ["doctor", "--json"]]) {
      const { stdout, stderr } = await run(args, { env });
      expect(stdout).toContain("[redacted]");
      expect(stdout + stderr).not.toContain(TOKEN);
    }
  });
});

async function startServers(count: number, args: readonly string[] = []) {
  const stateDir = join(await folderForTest(), "state");
  const env = { MIC_STATE_DIR: stateDir, MIC_LOG_LEVEL: "debug" };
  const programs = await Promise.all(Array.from({ length: count }, () => launchHttp({ args, env })));
  onTestFinished(async () => void (await Promise.all(programs.map(({ kill }) => kill()))));
  return { stateDir, programs };
}

describe("without MIC_HTTP_TOKEN", () => {
  test("starts that happen at the same time use one token, which only the user can read", async () => {
    const { stateDir, programs } = await startServers(4);
    const file = join(stateDir, "http-token");
    const token = readFileSync(file, "utf8").trimEnd();
    expect(token).toMatch(/^[\w-]{43}$/);
    if (process.platform !== "win32") expect((statSync(file).mode & 0o777).toString(8)).toBe("600");
    for (const { url, tokenFile, stdout, stderr } of programs) {
      expect(tokenFile).toBe(file);
      expect((await post(url, initializeMessage(), { authorization: `Bearer ${token}` }).answer).status).toBe(200);
      const refused = await post(url, initializeMessage()).answer;
      expect(refused.status).toBe(401);
      expect(refused.messages[0]?.error?.message).toContain(`in the file ${file}. Send it in the header Authorization`);
      expect(stdout() + stderr() + refused.body).not.toContain(token);
    }
  });

  test("a client that looks for OAuth endpoints gets a message with the place of the token", async () => {
    const { programs } = await startServers(1);
    for (const { url, tokenFile } of programs) {
      const { origin } = new URL(url);
      await expect(discoverOAuthProtectedResourceMetadata(url)).rejects.toThrow(/does not implement OAuth/);
      expect(await discoverAuthorizationServerMetadata(origin)).toBeUndefined();
      const registration = { redirect_uris: ["http://localhost/callback"] };
      const registered = registerClient(origin, { clientMetadata: registration });
      await expect(registered).rejects.toThrow(`in the file ${tokenFile}.`);
    }
  });

  const cannotBeUsed: readonly (readonly [string, string, (file: string) => unknown])[] = [
    ["its folder is a file", "cannot be written (", (file) => writeFileSync(join(file, ".."), "")],
    ["the file is a folder", "is not a file", (file) => mkdirSync(file, { recursive: true })],
    ["the token is too short", "does not contain a token", (file) => writeToken(file, "short\n")],
    ["the file was never completed", "does not contain a token", (file) => writeToken(file, "")],
    // Windows has no modes.
    ...(posixMissing === undefined
      ? [["other users can read it", "can be read by other users", writeReadable] as const]
      : []),
  ];

  function writeReadable(file: string): void {
    writeToken(file, `${TOKEN}\n`, 0o644);
  }

  function writeToken(file: string, text: string, mode = 0o600): void {
    mkdirSync(join(file, ".."), { mode: 0o700 });
    writeFileSync(file, text, { mode });
  }

  test.each(cannotBeUsed)("serve --http ends with exit code 4 if %s", async (_case, reason, prepare) => {
    const stateDir = join(await folderForTest(), "state");
    const file = join(stateDir, "http-token");
    prepare(file);
    const { code, stdout, stderr } = await run(["serve", "--http"], { env: { MIC_STATE_DIR: stateDir } });
    expect({ code, stdout }).toEqual({ code: 4, stdout: "" });
    expect(stderr).toContain(`mic-mcp: serve --http needs a bearer token, but "${file}" ${reason}`);
    expect(stderr).toContain("or set MIC_HTTP_TOKEN to at least 16 characters.");
    expect(stderr).not.toContain(TOKEN);
  });

  testUnless(
    posixMissing,
    "doctor states where the token is, and reports a file that other users can read",
    async () => {
      const stateDir = await folderForTest();
      const env = { MIC_STATE_DIR: stateDir };
      const file = join(stateDir, "http-token");
      expect((await run(["doctor"], { env })).stdout).toContain(`serve --http will create it in ${file}`);
      writeFileSync(file, `${TOKEN}\n`, { mode: 0o600 });
      expect((await run(["doctor"], { env })).stdout).toContain(`clients of serve --http find it in ${file}`);
      chmodSync(file, 0o644);
      const { stdout } = await run(["doctor"], { env });
      expect(stdout).toMatch(/FAIL HTTP token .*can be read by other users/);
      expect(stdout).not.toContain(TOKEN);
    },
  );
});

test("with --no-token, every client is served, a warning is on stderr, and no token is created", async () => {
  const { stateDir, programs } = await startServers(1, ["--no-token"]);
  for (const { url, tokenFile, stderr } of programs) {
    expect((await post(url, initializeMessage()).answer).status).toBe(200);
    expect(tokenFile).toBeUndefined();
    expect(stderr()).toContain("--no-token: every user and program of this machine can use this server");
    expect(existsSync(join(stateDir, "http-token"))).toBe(false);
  }
  expect(await run(["serve", "--no-token"])).toMatchObject({ code: 2, stderr: expect.stringContaining("--http") });
});
