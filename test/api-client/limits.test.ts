// Tests the time limits of a call: 45 s in total, 20 s for one attempt, and an immediate end if the client cancels.
import { expect, onTestFinished } from "vitest";
import { CALL_LIMIT_MS } from "../../src/api-client/attempts.ts";
import { createTransport, type Transport } from "../../src/api-client/transport.ts";
import { createMicJob, getMicJob } from "../../src/contract/endpoints/job-processing.ts";
import { enveloped, job } from "../contract/samples.ts";
import { test } from "../support/fixtures.ts";
import { answer, answerSlowly, neverAnswer } from "../support/stub.ts";
import { clientForTest, createCallContext, eagerTiming, expectFailure, readJob, submitJob } from "./client.ts";

const isToken = (path: string): boolean => path.endsWith("/oauth/token");
const completeAnswer = answer(200, enveloped(job));

const withShortTimeouts = (limitsMs: number[]) => (real: Transport) => ({
  ...real,
  exchange(request: Parameters<Transport["exchange"]>[0], limits: Parameters<Transport["exchange"]>[1]) {
    if (isToken(request.path)) return real.exchange(request, limits);
    limitsMs.push(limits.timeoutMs);
    return real.exchange(request, { ...limits, timeoutMs: limits.timeoutMs / 100 });
  },
});

test("a call has 45 s in total, and an attempt 20 s, or the remaining time of the call", async ({ stub }) => {
  const limitsMs: number[] = [];
  const clock = { nowMs: 0 };
  const timing = { ...eagerTiming, clockMs: () => clock.nowMs };
  const { service } = clientForTest(stub.baseUrl, { timing, wrap: withShortTimeouts(limitsMs) });
  stub.respond(() => {
    clock.nowMs += 18_000;
    return neverAnswer;
  });
  const context = { signal: new AbortController().signal, deadlineAt: CALL_LIMIT_MS };
  expect(CALL_LIMIT_MS).toBe(45_000);
  expect(await expectFailure(readJob(service, context))).toMatchObject({ kind: "timeout", retryable: true });
  expect(limitsMs).toEqual([20_000, 20_000, 9_000]);
});

const incomplete = [
  ["never comes", neverAnswer],
  ["drips in", answerSlowly(200, enveloped(job), 100, 1_000)],
] as const;

test.for(incomplete)("a call whose answer %s ends on time", async ([_, step], { stub, service }) => {
  stub.respond(() => step);
  const facts = { kind: "timeout", sideEffect: "none" };
  expect(await expectFailure(readJob(service, createCallContext(400)))).toMatchObject(facts);
});

test.for(incomplete)(
  "a canceled call breaks off its request at once when its answer %s",
  async ([_, step], { stub, service }) => {
    const client = new AbortController();
    stub.respond(() => {
      setTimeout(() => client.abort(), 30);
      return step;
    });
    const facts = { kind: "cancelled", sideEffect: "none" };
    expect(await expectFailure(readJob(service, createCallContext(10_000, client.signal)))).toMatchObject(facts);
    expect(await stub.requests[0]?.closed).toBe(false);
    expect(stub.requests).toHaveLength(1);
  },
);

test("a call whose token never arrives ends on time", async ({ stub, service }) => {
  stub.respondToToken(() => neverAnswer);
  expect((await expectFailure(submitJob(service, createCallContext(400)))).sideEffect).toBe("none");
  expect(stub.requests).toHaveLength(0);
});

test("a call is not retried if it is canceled while waiting for the next attempt", async ({ stub, service }) => {
  const client = new AbortController();
  stub.respond(() => {
    setTimeout(() => client.abort(), 30);
    return answer(503, undefined, { "retry-after": "100" });
  });
  const call = readJob(service, createCallContext(600_000, client.signal));
  expect(await expectFailure(call)).toMatchObject({ kind: "cancelled" });
  expect(stub.requests).toHaveLength(1);
});

test("a call sends nothing if it is canceled while the first request loads its dependencies", async ({ stub }) => {
  const transport = createTransport();
  onTestFinished(() => transport.close());
  const client = new AbortController();
  const request = { method: "GET", origin: stub.baseUrl, path: "/anything", headers: {} } as const;
  const limits = { maxBytes: 1_000, timeoutMs: 5_000, signal: client.signal };
  const exchange = transport.exchange(request, limits);
  client.abort();
  await expect(exchange).rejects.toThrow("aborted");
  expect(stub.requests).toHaveLength(0);
});

test("a canceled call does not cancel the token request that other calls wait for", async ({ stub, service }) => {
  const client = new AbortController();
  stub.respond(() => completeAnswer);
  stub.respondToToken(() => answerSlowly(200, { access_token: "slow-token" }, 10, 20));
  const cancelledRead = expectFailure(readJob(service, createCallContext(10_000, client.signal)));
  const staying = readJob(service);
  setTimeout(() => client.abort(), 50);
  expect(await cancelledRead).toMatchObject({ kind: "cancelled", sideEffect: "none" });
  expect((await staying).attempts).toBe(1);
  expect(stub.tokenRequests).toHaveLength(1);
});

const CONNECTIONS = 8;

test("connections stay within the limit for any number of calls", async ({ stub }) => {
  const { service, tokens } = clientForTest(stub.baseUrl, { connections: CONNECTIONS });
  await tokens.get(getMicJob.scopesToRequest, createCallContext(5_000));
  stub.respond(() => answerSlowly(200, enveloped(job), 10, 20));
  await Promise.all(Array.from({ length: 3 * CONNECTIONS }, () => readJob(service)));
  const used = new Set(stub.requests.map(({ connection }) => connection));
  expect(stub.requests).toHaveLength(3 * CONNECTIONS);
  // One of them may be the token's.
  expect(used.size).toBeLessThanOrEqual(CONNECTIONS);
  expect(used.size).toBeGreaterThanOrEqual(CONNECTIONS - 1);
});

test("an action that waits for a free connection is not sent and changed nothing if its time is over", async ({
  stub,
}) => {
  const { service, tokens } = clientForTest(stub.baseUrl, { connections: CONNECTIONS });
  // Get the token before all connections are busy.
  await tokens.get(createMicJob.scopesToRequest, createCallContext(5_000));
  stub.respond(() => neverAnswer);
  const busy = new AbortController();
  const readers = Array.from({ length: CONNECTIONS }, () =>
    expectFailure(readJob(service, createCallContext(10_000, busy.signal))),
  );
  await expect.poll(() => stub.requests).toHaveLength(CONNECTIONS);
  expect(await expectFailure(submitJob(service, createCallContext(400)))).toMatchObject({
    retryable: true,
    sideEffect: "none",
  });
  busy.abort();
  await Promise.all(readers);
  stub.respond(() => completeAnswer);
  expect(await readJob(service)).toMatchObject({ attempts: 1 });
  expect(stub.requests.filter(({ method }) => method === "POST")).toEqual([]);
});
