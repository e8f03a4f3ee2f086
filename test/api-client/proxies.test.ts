// Tests that HTTP_PROXY and NO_PROXY are obeyed, and that a proxy which fails is named and changed nothing.
import { execFile } from "node:child_process";
import { cp, rm, symlink } from "node:fs/promises";
import { createServer } from "node:http";
import { connect } from "node:net";
import { join, resolve } from "node:path";
import type { Duplex } from "node:stream";
import { promisify } from "node:util";
import fc from "fast-check";
import { afterEach, beforeEach, expect, onTestFinished, vi } from "vitest";
import { proxyVariableFor } from "../../src/api-client/proxies.ts";
import type { Transport } from "../../src/api-client/transport.ts";
import { userForTest } from "../cli/test-user.ts";
import { enveloped, job } from "../contract/samples.ts";
import { FILE, fileId } from "../emulator/work.ts";
import { run } from "../mcp/stdio/child.ts";
import { runInProcess } from "../support/command.ts";
import { test } from "../support/fixtures.ts";
import { serveForTest } from "../support/http-server.ts";
import { bareEnvironment, connectionForTest } from "../support/mcp.ts";
import { answer, neverAnswer, refusingBaseUrl } from "../support/stub.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { clientForTest, createCallContext, expectFailure, readJob, submitJob } from "./client.ts";

const NAMES = ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"].flatMap((name) => [name, name.toLowerCase()]);

beforeEach(() => {
  for (const name of NAMES) vi.stubEnv(name, undefined);
});
afterEach(() => {
  vi.unstubAllEnvs();
});

/**
 * Starts a proxy for the running test only: it tunnels with CONNECT, and records `host:port` of each tunnel. `refuseWith`: the
 * status that it returns instead; "silence": none.
 */
async function proxyForTest(refuseWith?: number | "silence") {
  const passed: string[] = [];
  const tunnels = new Set<Duplex>();
  const server = createServer().on("connect", ({ url = "" }, socket) => {
    passed.push(url);
    tunnels.add(socket);
    // A reset of one half closes both.
    socket.on("error", () => undefined);
    if (refuseWith === "silence") return;
    if (refuseWith !== undefined) {
      socket.end(`HTTP/1.1 ${refuseWith} No\r\ncontent-length: 0\r\n\r\n`);
      return;
    }
    const { hostname, port } = new URL(`http://${url}`);
    const onward = connect(Number(port), hostname, () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      onward.pipe(socket).pipe(onward);
    });
    onward.on("error", () => socket.destroy());
    socket.on("close", () => onward.destroy());
  });
  const url = await serveForTest(server);
  onTestFinished(() => {
    for (const tunnel of tunnels) tunnel.destroy();
  });
  return { url, passed };
}

/** The token request does not use the proxy, so that the action itself reaches it. */
const withTokenFromElsewhere = (real: Transport): Transport => ({
  ...real,
  exchange: (request, limits) =>
    request.path.endsWith("/oauth/token")
      ? Promise.resolve({ status: 200, headers: {}, body: Buffer.from('{"access_token":"from-elsewhere"}') })
      : real.exchange(request, limits),
});

test.for(["HTTP_PROXY", "http_proxy"] as const)(
  "every request goes through the proxy set as %s, unless NO_PROXY names the host",
  async (name, { stub }) => {
    const proxy = await proxyForTest();
    vi.stubEnv(name, proxy.url);
    stub.respond(() => answer(200, enveloped(job)));
    expect((await readJob(clientForTest(stub.baseUrl).service)).value.data.id).toBe(job.id);
    expect(new Set(proxy.passed)).toEqual(new Set([new URL(stub.baseUrl).host]));
    expect(stub.tokenRequests).toHaveLength(1);
    const { length } = proxy.passed;
    vi.stubEnv("NO_PROXY", "example.com,127.0.0.1");
    await readJob(clientForTest(stub.baseUrl).service);
    expect(proxy.passed).toHaveLength(length);
  },
);

test("a proxy that is set as host:port is used over http, and an empty variable does not hide another one", async ({
  stub,
}) => {
  const proxy = await proxyForTest();
  vi.stubEnv("http_proxy", "");
  vi.stubEnv("HTTP_PROXY", new URL(proxy.url).host);
  stub.respond(() => answer(200, enveloped(job)));
  await readJob(clientForTest(stub.baseUrl).service);
  expect(proxy.passed.length).toBeGreaterThan(0);
});

test("an action that a wrong proxy setting stopped runs when the setting is corrected", async () => {
  const user = await userForTest();
  const line = ["call", "register_input", "inputKind=M4_FILE", `referenceId=${fileId(user.service, FILE.succeeds)}`];
  const refused = await runInProcess(line, { env: { ...user.env, HTTP_PROXY: "DIRECT" } });
  expect(refused).toMatchObject({
    code: 4,
    stderr: expect.stringMatching(/HTTP_PROXY is not the URL of a proxy\.\nNothing was changed\.\n/),
  });
  expect(await runInProcess(line, { env: user.env })).toMatchObject({ code: 0 });
  expect([...(await user.executions("createMicPublicInput")).values()]).toEqual([1]);
});

test("an HTTP client that cannot be started is an error without an effect", async () => {
  const folder = await folderForTest();
  await cp("dist", join(folder, "dist"), { recursive: true });
  await rm(join(folder, "dist/undici.js"));
  await cp("package.json", join(folder, "package.json"));
  await symlink(resolve("node_modules"), join(folder, "node_modules"));
  const { env, service } = await userForTest();
  const line = ["call", "register_input", "inputKind=M4_FILE", `referenceId=${fileId(service, FILE.succeeds)}`];
  const program = promisify(execFile)(process.execPath, [join(folder, "dist/cli.js"), ...line], {
    env: { ...bareEnvironment(folder), ...env },
  });
  await expect(program).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /^register_input failed \(unavailable\): Nothing was sent, because the HTTP client cannot be started.*Nothing was changed\./s,
    ),
  });
});

test.for([
  ["10.0.0.0/8", "http://10.1.2.3", true],
  ["10.0.0.0/8", "http://11.1.2.3", false],
  ["10.0.0.0/8:8080", "http://10.1.2.3:8080", true],
  ["10.0.0.0/8:8080", "http://10.1.2.3", false],
  ["10.0.0.0/99", "http://10.1.2.3", false],
  ["10.0.0.0/8", "http://10.example", false],
  ["fd00::/8", "http://[fd00::1]", true],
  ["fd00::/8", "http://10.1.2.3", false],
  ["127.*", "http://127.0.0.1", true],
  ["127.*", "http://128.0.0.1", false],
  ["127.*", "http://127.example", false],
  ["::1", "http://[::1]", true],
  ["[::1]:8080", "http://[::1]:8080", true],
  ["[::1]:8080", "http://[::1]", false],
  ["a.example;b.example", "http://b.example", true],
  ["a.example, b.example", "http://x.b.example", true],
  ["*.b.example", "http://x.b.example", true],
  [".b.example", "http://b.example", true],
  ["b.example", "http://ab.example", false],
  ["b.example:443", "https://b.example", true],
  ["x,*", "https://b.example", true],
  ["", "http://127.0.0.1", false],
] as const)("NO_PROXY=%s and %s: excluded is %s", ([excluded, url, isExcluded]) => {
  vi.stubEnv("HTTP_PROXY", "http://proxy.example:3128");
  vi.stubEnv("NO_PROXY", excluded);
  expect(proxyVariableFor(url)).toBe(isExcluded ? undefined : "HTTP_PROXY");
});

/** Causes that end a request before its first byte: values of a proxy, and hosts that cannot be connected. */
const proxyValue = fc.oneof(
  fc.constantFrom("127.0.0.1:1", "http://127.0.0.1:1", "https://127.0.0.1:1", "socks5://127.0.0.1:1"),
  fc
    .array(
      fc.constantFrom(
        "http",
        "ftp",
        "socks4",
        "socks5",
        "DIRECT",
        ":",
        "//",
        "u:p@",
        "127.0.0.1",
        ":1",
        "[",
        "%",
        "#",
        "/",
        " ",
        "é",
        "\0",
      ),
    )
    .map((parts) => parts.join("")),
);

test("a failure before the first byte has no effect, whatever its cause", async ({ stub }) => {
  const refusing = await refusingBaseUrl();
  const silent = await proxyForTest(502);
  const base = fc.constantFrom(
    refusing,
    stub.baseUrl.replace("http:", "https:"),
    "http://mic.invalid",
    "https://[::1]:1",
  );
  await fc.assert(
    fc.asyncProperty(base, fc.option(proxyValue), async (baseUrl, proxy) => {
      vi.stubEnv("HTTP_PROXY", proxy?.replaceAll("\0", "") ?? silent.url);
      for (const wrap of [withTokenFromElsewhere, (real: Transport) => real]) {
        const failure = await expectFailure(
          submitJob(clientForTest(baseUrl, { wrap }).service, createCallContext(200)),
        );
        expect(failure.sideEffect).toBe("none");
        expect(["not_configured", "upstream_unavailable", "timeout"]).toContain(failure.kind);
      }
    }),
    { numRuns: 60 },
  );
  expect(stub.requests).toHaveLength(0);
});

const HINT = expect.stringContaining("ask the user to check HTTP_PROXY.");

test("an action changed nothing if the proxy is down", async ({ stub }) => {
  vi.stubEnv("HTTP_PROXY", await refusingBaseUrl());
  expect(await expectFailure(submitJob(clientForTest(stub.baseUrl).service))).toMatchObject({
    kind: "upstream_unavailable",
    sideEffect: "none",
    message: expect.stringMatching(/the proxy that HTTP_PROXY names failed: .*ECONNREFUSED/),
    next: HINT,
  });
  expect(stub.requests).toHaveLength(0);
});

test("a proxy that never answers is named, and the action changed nothing", async ({ stub }) => {
  vi.stubEnv("HTTP_PROXY", (await proxyForTest("silence")).url);
  for (const options of [{}, { wrap: withTokenFromElsewhere }]) {
    const { service } = clientForTest(stub.baseUrl, options);
    expect(await expectFailure(submitJob(service, createCallContext(300)))).toMatchObject({
      kind: "timeout",
      sideEffect: "none",
      message: expect.stringContaining("the proxy that HTTP_PROXY names"),
      next: HINT,
    });
  }
  expect(stub.requests).toHaveLength(0);
});

test("an error of the API is not reported as the proxy's if NO_PROXY excludes the API", async ({ stub }) => {
  stub.respondToToken(() => neverAnswer);
  vi.stubEnv("HTTP_PROXY", (await proxyForTest("silence")).url);
  for (const excluded of ["127.0.0.1", "*", `other.example ${new URL(stub.baseUrl).host}`]) {
    vi.stubEnv("NO_PROXY", excluded);
    const { service } = clientForTest(stub.baseUrl);
    const { message, next } = await expectFailure(submitJob(service, createCallContext(300)));
    expect(`${message} ${next}`, excluded).not.toMatch(/proxy/i);
  }
  vi.stubEnv("HTTP_PROXY", await refusingBaseUrl());
  vi.stubEnv("NO_PROXY", "127.0.0.1");
  const { message, next } = await expectFailure(submitJob(clientForTest(await refusingBaseUrl()).service));
  expect(`${message} ${next}`).toMatch(/ECONNREFUSED.*check MIC_BASE_URL/);
  expect(message).not.toContain("proxy");
});

test("doctor names the proxy that is down", async () => {
  const env = { HTTPS_PROXY: await refusingBaseUrl(), MIC_BASE_URL: "https://mic.invalid" };
  const { code, stdout } = await run(["doctor"], { env });
  expect(code).toBe(1);
  expect(stdout).toMatch(/FAIL geography API .*the proxy that HTTPS_PROXY names failed/);
});

test("an action changed nothing if the proxy refuses the tunnel", async ({ stub }) => {
  for (const status of [403, 407, 502]) {
    const proxy = await proxyForTest(status);
    vi.stubEnv("HTTP_PROXY", proxy.url);
    const { service } = clientForTest(stub.baseUrl, { wrap: withTokenFromElsewhere });
    expect((await expectFailure(submitJob(service))).sideEffect).toBe("none");
    expect(proxy.passed.length).toBeGreaterThan(0);
  }
  expect(stub.requests).toHaveLength(0);
});

test("an emulator in the same process is reached without the proxy", async () => {
  const connection = await connectionForTest("v2-modern", {
    args: ["serve", "--emulator"],
    env: { HTTP_PROXY: await refusingBaseUrl() },
  });
  expect(await connection.callTool("list_states")).toMatchObject({ isError: false });
});
