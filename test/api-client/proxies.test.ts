// Tests that HTTP_PROXY and NO_PROXY are obeyed, and that a proxy which fails is named and changed nothing.
import { afterEach, beforeEach, expect, vi } from "vitest";
import type { Transport } from "../../src/api-client/transport.ts";
import { enveloped, job } from "../contract/samples.ts";
import { run } from "../mcp/stdio/child.ts";
import { test } from "../support/fixtures.ts";
import { connectionForTest } from "../support/mcp.ts";
import { answer, neverAnswer, refusingBaseUrl } from "../support/stub.ts";
import { clientForTest, createCallContext, expectFailure, readJob, submitJob } from "./client.ts";
import { proxyForTest } from "./proxy.ts";

const NAMES = ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"].flatMap((name) => [name, name.toLowerCase()]);

beforeEach(() => {
  for (const name of NAMES) vi.stubEnv(name, undefined);
});
afterEach(() => {
  vi.unstubAllEnvs();
});

/** The token request does not use the proxy, so that the action itself reaches it. */
const withTokenFromElsewhere = (real: Transport): Transport => ({
  ...real,
  exchange: (request, limits) =>
    request.path.endsWith("/oauth/token")
      ? Promise.resolve({ status: 200, headers: {}, body: Buffer.from('{"access_token":"from-elsewhere"}') })
      : real.exchange(request, limits),
});

test.for(["HTTP_PROXY", "http_proxy"] as const)(
  "every request goes through the proxy set as %s",
  async (name, { stub }) => {
    const proxy = await proxyForTest();
    vi.stubEnv(name, proxy.url);
    const { service } = clientForTest(stub.baseUrl);
    stub.respond(() => answer(200, enveloped(job)));
    expect((await readJob(service)).value.data.id).toBe(job.id);
    expect(proxy.passed.length).toBeGreaterThan(0);
    for (const target of proxy.passed) expect(target).toContain(new URL(stub.baseUrl).host);
    expect(stub.tokenRequests).toHaveLength(1);
  },
);

test("no request goes through the proxy if NO_PROXY names the host", async ({ stub }) => {
  const proxy = await proxyForTest();
  vi.stubEnv("HTTP_PROXY", proxy.url);
  vi.stubEnv("NO_PROXY", "example.com,127.0.0.1");
  const { service } = clientForTest(stub.baseUrl);
  stub.respond(() => answer(200, enveloped(job)));
  await readJob(service);
  expect(proxy.passed).toEqual([]);
});

test("an action changed nothing if the proxy is down", async ({ stub }) => {
  const proxyUrl = await refusingBaseUrl();
  vi.stubEnv("HTTP_PROXY", proxyUrl);
  const { service } = clientForTest(stub.baseUrl);
  expect(await expectFailure(submitJob(service))).toMatchObject({
    kind: "upstream_unavailable",
    sideEffect: "none",
    message: expect.stringMatching(/the proxy that HTTP_PROXY names failed: .*ECONNREFUSED/),
    next: expect.stringContaining("ask the user to check HTTP_PROXY."),
  });
  expect(stub.requests).toHaveLength(0);
});

test("a proxy that never answers is named, and the action changed nothing", async ({ stub }) => {
  vi.stubEnv("HTTP_PROXY", (await proxyForTest("silence")).url);
  const tokenFailure = await expectFailure(submitJob(clientForTest(stub.baseUrl).service, createCallContext(300)));
  const { service } = clientForTest(stub.baseUrl, { wrap: withTokenFromElsewhere });
  for (const failure of [tokenFailure, await expectFailure(submitJob(service, createCallContext(300)))])
    expect(failure).toMatchObject({
      kind: "timeout",
      sideEffect: "none",
      message: expect.stringContaining("the proxy that HTTP_PROXY names"),
      next: expect.stringContaining("ask the user to check HTTP_PROXY."),
    });
  expect(stub.requests).toHaveLength(0);
});

test.for(["127.0.0.1", "*", "other.example 127.0.0.1:PORT"])(
  "an API that never answers is not reported as the proxy's error with NO_PROXY=%s",
  async (excluded, { stub }) => {
    vi.stubEnv("HTTP_PROXY", (await proxyForTest("silence")).url);
    vi.stubEnv("NO_PROXY", excluded.replace("PORT", new URL(stub.baseUrl).port));
    stub.respondToToken(() => neverAnswer);
    const { message, next } = await expectFailure(
      submitJob(clientForTest(stub.baseUrl).service, createCallContext(300)),
    );
    expect(`${message} ${next}`).not.toMatch(/proxy/i);
  },
);

test("an API that is down is not reported as a dead proxy if NO_PROXY excludes it", async () => {
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
  expect(stdout).toMatch(/WRONG geography API .*the proxy that HTTPS_PROXY names failed/);
  expect(stdout).toMatch(/WRONG proxy .*HTTPS_PROXY/);
});

test.for([403, 407, 502] as const)(
  "an action changed nothing if the proxy answers HTTP %i",
  async (status, { stub }) => {
    const proxy = await proxyForTest(status);
    const { service } = clientForTest(stub.baseUrl, { wrap: withTokenFromElsewhere });
    vi.stubEnv("HTTP_PROXY", proxy.url);
    expect((await expectFailure(submitJob(service))).sideEffect).toBe("none");
    expect(proxy.passed.length).toBeGreaterThan(0);
    expect(stub.requests).toHaveLength(0);
  },
);

test("an emulator in the same process is reached without the proxy", async () => {
  const connection = await connectionForTest("v2-modern", {
    args: ["serve", "--emulator"],
    env: { HTTP_PROXY: await refusingBaseUrl() },
  });
  expect(await connection.callTool("list_states")).toMatchObject({ isError: false });
});
