// A call's own end: 45 s for all of it, 20 s for one attempt, at once when the client cancels. No test waits that long.
import { describe, expect, onTestFinished, vi } from "vitest";
import { CALL_LIMIT_MS } from "../../src/api-client/attempts.ts";
import { CONNECTIONS, createTransport, type Transport } from "../../src/api-client/transport.ts";
import { createMicJob, getMicJob } from "../../src/contract/endpoints/job-processing.ts";
import { enveloped, job } from "../contract/samples.ts";
import { test } from "../support/fixtures.ts";
import { answer, answerSlowly, hangUp, neverAnswer } from "../support/stub.ts";
import {
  clientForTest,
  createCallContext,
  eagerTiming,
  expectFailure,
  readJob,
  recordedTiming,
  submitJob,
} from "./client.ts";

const isToken = (path: string): boolean => path.endsWith("/oauth/token");
const completeAnswer = answer(200, enveloped(job));

/** The real transport, its attempts' limits noted and cut down to a hundredth. */
const withShortTimeouts = (limitsMs: number[]) => (real: Transport) => ({
  ...real,
  exchange(request: Parameters<Transport["exchange"]>[0], limits: Parameters<Transport["exchange"]>[1]) {
    if (isToken(request.path)) return real.exchange(request, limits);
    limitsMs.push(limits.timeoutMs);
    return real.exchange(request, { ...limits, timeoutMs: limits.timeoutMs / 100 });
  },
});

describe("time", () => {
  test("a whole call has 45 s", () => expect(CALL_LIMIT_MS).toBe(45_000));

  test("an attempt has 20 s, or what is left of the call", async ({ stub }) => {
    const limitsMs: number[] = [];
    const clock = { nowMs: 0 };
    const timing = { ...eagerTiming, now: () => clock.nowMs };
    const { service } = clientForTest(stub.baseUrl, { timing, wrap: withShortTimeouts(limitsMs) });
    stub.respond(() => {
      clock.nowMs += 18_000;
      return neverAnswer;
    });
    const context = { signal: new AbortController().signal, deadlineAt: CALL_LIMIT_MS };
    expect(await expectFailure(readJob(service, context))).toMatchObject({ kind: "timeout", retryable: true });
    expect(limitsMs).toEqual([20_000, 20_000, 9_000]);
  });

  test("a second attempt follows one that was not answered in time", async ({ stub }) => {
    const { service } = clientForTest(stub.baseUrl, { wrap: withShortTimeouts([]) });
    stub.expect(neverAnswer, completeAnswer);
    expect(await readJob(service, createCallContext(45_000))).toMatchObject({ attempts: 2 });
  });

  test.for([
    ["is never answered", neverAnswer],
    ["drips in", answerSlowly(200, enveloped(job), 100, 1_000)],
  ] as const)("a call whose answer %s ends on time", async ([_, step], { stub, service }) => {
    stub.respond(() => step);
    expect(await expectFailure(readJob(service, createCallContext(400)))).toMatchObject({
      kind: "timeout",
      sideEffect: "none",
    });
  });

  test("a call whose token never comes ends on time", async ({ stub, service }) => {
    stub.respondToToken(() => neverAnswer);
    const facts = await expectFailure(submitJob(service, createCallContext(400)));
    expect(facts.sideEffect).toBe("none");
    expect(stub.requests).toHaveLength(0);
  });
});

describe("Retry-After", () => {
  const limited = (retryAfter: string) => answer(429, undefined, { "retry-after": retryAfter });

  test.for([
    ["seconds", (): string => "1"],
    ["a date", (): string => new Date(Math.ceil(Date.now() / 1000) * 1000).toUTCString()],
  ] as const)("in %s is waited for, then the call goes on", async ([_, header], { stub, service }) => {
    const startedAt = Date.now();
    const text = header();
    const dueAt = text === "1" ? startedAt + 1000 : Date.parse(text);
    stub.expect(limited(text), completeAnswer);
    expect(await readJob(service)).toMatchObject({ attempts: 2 });
    expect(Date.now()).toBeGreaterThanOrEqual(dueAt);
  });

  test.for(["rate_limited", "upstream_unavailable"] as const)(
    "that does not fit is handed to the agent (%s)",
    async (kind, { stub }) => {
      const slept: number[] = [];
      const { service } = clientForTest(stub.baseUrl, { timing: recordedTiming(slept) });
      const status = kind === "rate_limited" ? 429 : 503;
      stub.expect(answer(status, undefined, { "retry-after": "120" }));
      expect(await expectFailure(readJob(service, createCallContext(45_000)))).toMatchObject({
        kind,
        status,
        retryAfterSeconds: 120,
        retryable: true,
      });
      expect(slept).toEqual([]);
    },
  );
});

describe("a call cancelled by the client", () => {
  test.for([
    ["no answer came yet", neverAnswer],
    ["the answer drips in", answerSlowly(200, enveloped(job), 100, 1_000)],
  ] as const)("breaks its request off at once when %s", async ([_, step], { stub, service }) => {
    const client = new AbortController();
    let closed: Promise<boolean> = Promise.resolve(true);
    stub.respond((request) => {
      closed = request.closed;
      setTimeout(() => client.abort(), 30);
      return step;
    });
    expect(await expectFailure(readJob(service, createCallContext(10_000, client.signal)))).toMatchObject({
      kind: "cancelled",
      sideEffect: "none",
    });
    expect(await closed).toBe(false);
    expect(stub.requests).toHaveLength(1);
  });

  test("is not tried again while it waits for the next attempt", async ({ stub, service }) => {
    const client = new AbortController();
    stub.respond(() => {
      setTimeout(() => client.abort(), 30);
      return answer(503, undefined, { "retry-after": "100" });
    });
    expect(await expectFailure(readJob(service, createCallContext(600_000, client.signal)))).toMatchObject({
      kind: "cancelled",
    });
    expect(stub.requests).toHaveLength(1);
  });

  test("sends nothing when that happens while the first one still loads what it needs", async ({ stub }) => {
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

  test("sends nothing when it was cancelled before", async ({ stub, service }) => {
    const facts = await expectFailure(submitJob(service, createCallContext(10_000, AbortSignal.abort())));
    expect(facts).toMatchObject({ kind: "cancelled", sideEffect: "none" });
    expect(stub.requests).toHaveLength(0);
  });

  test("while it waits for a token that others wait for too leaves them the token", async ({ stub, service }) => {
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
});

test("a wait never goes on after the clock has run out", async ({ stub }) => {
  const slept: number[] = [];
  const { service } = clientForTest(stub.baseUrl, { timing: { ...recordedTiming(slept), random: () => 0.999 } });
  stub.respond(() => hangUp);
  expect((await expectFailure(readJob(service, createCallContext(1200)))).kind).toBe("upstream_unavailable");
  expect(slept.length).toBeGreaterThan(0);
  expect(slept.reduce((sum, ms) => sum + ms, 0)).toBeLessThan(1200);
});

test("no more connections are opened than the limit, however many calls there are", async ({
  stub,
  client: { service, tokens },
}) => {
  await tokens.get(getMicJob.scopesToRequest, createCallContext(5_000));
  stub.respond(() => answerSlowly(200, enveloped(job), 10, 20));
  await Promise.all(Array.from({ length: 3 * CONNECTIONS }, () => readJob(service)));
  const used = new Set(stub.requests.map(({ connection }) => connection));
  expect(stub.requests).toHaveLength(3 * CONNECTIONS);
  // The token's may be one of them.
  expect(used.size).toBeLessThanOrEqual(CONNECTIONS);
  expect(used.size).toBeGreaterThanOrEqual(CONNECTIONS - 1);
});

describe("an action that waits for a free connection is never sent when", () => {
  test.for([
    ["its time is over", () => createCallContext(400)],
    ["the client cancels it", () => createCallContext(10_000, AbortSignal.timeout(200))],
  ] as const)(
    "%s, and it is known that nothing was done",
    async ([_, context], { stub, client: { service, tokens } }) => {
      // Its token must not need a connection then.
      await tokens.get(createMicJob.scopesToRequest, createCallContext(5_000));
      stub.respond(() => neverAnswer);
      const busy = new AbortController();
      const readers = Array.from({ length: CONNECTIONS }, () =>
        expectFailure(readJob(service, createCallContext(10_000, busy.signal))),
      );
      await vi.waitFor(() => expect(stub.requests).toHaveLength(CONNECTIONS));
      expect(await expectFailure(submitJob(service, context()))).toMatchObject({ retryable: true, sideEffect: "none" });
      busy.abort();
      await Promise.all(readers);
      stub.respond(() => completeAnswer);
      expect(await readJob(service)).toMatchObject({ attempts: 1 });
      expect(stub.requests.filter(({ method }) => method === "POST")).toEqual([]);
    },
  );
});
