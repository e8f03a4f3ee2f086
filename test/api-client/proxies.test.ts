// Tests that HTTP_PROXY and NO_PROXY are obeyed, and that a proxy which fails is named and changed nothing.
import { createServer } from "node:http";
import { connect } from "node:net";
import type { Duplex } from "node:stream";
import { afterEach, beforeEach, expect, onTestFinished, vi } from "vitest";
import type { Transport } from "../../src/api-client/transport.ts";
import { enveloped, job } from "../contract/samples.ts";
import { run } from "../mcp/stdio/child.ts";
import { test } from "../support/fixtures.ts";
import { serveForTest } from "../support/http-server.ts";
import { connectionForTest } from "../support/mcp.ts";
import { answer, neverAnswer, refusingBaseUrl } from "../support/stub.ts";
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
  expect(stdout).toMatch(/FAIL proxy .*HTTPS_PROXY/);
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
