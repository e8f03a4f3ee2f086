// Tests that a wrong, changed or stopped clock does not make an old action look young: it is not sent again, and a call does not last longer.
import { beforeEach, expect, test } from "vitest";
import { createDeadlineClock } from "../../src/api-client/attempts.ts";
import { openSqlite } from "../../src/store/sqlite.ts";
import { clientForTest, eagerTiming, expectFailure, submitJob } from "../api-client/client.ts";
import { createJob, enveloped, job, problem } from "../contract/samples.ts";
import { type InProcessServer, inProcessServerForTest } from "../support/server.ts";
import { answer, resetAfterReading, type Stub } from "../support/stub.ts";
import { benchForTest } from "./bench.ts";

const HOUR_MS = 3_600_000;
const unavailable = answer(503, undefined, { "retry-after": "60" });
const accepted = [answer(202, enveloped(job)), answer(200, enveloped({ ...job, state: "SUCCEEDED" }))];

let stub: Stub;
let env: Readonly<Record<string, string>>;
let stateDir: string;
let server: InProcessServer;
beforeEach(async () => {
  ({ stub, env, stateDir } = await benchForTest());
  server = await inProcessServerForTest(env);
});

async function submitUnknown(): Promise<void> {
  stub.expect(unavailable);
  expect((await server.call("submit_job", createJob)).error).toMatchObject({ kind: "outcome_unknown" });
}

async function moveFirstAttempt(byMs: number, more = ""): Promise<void> {
  await server.end();
  const database = await openSqlite(stateDir);
  await database.query(`UPDATE actions SET first_sent_at = first_sent_at + $1 ${more}`, [byMs]);
  await database.close();
  server = await inProcessServerForTest(env);
}

const TOO_OLD = { kind: "outcome_unknown", sideEffect: "unknown", retryable: false };

/** How many hours the first attempt is moved, in another process, and how far the API's clock is ahead, first and later. */
test.for([
  ["not sent", "the API's clock has advanced by 50 h since the first attempt, in the same process", undefined, 0, 50],
  ["not sent", "the API's clock has advanced by 50 h since the first attempt, in another process", 0, 0, 50],
  ["not sent", "the journal's clock was set back by 5 h and 25 h have passed by the API's clock", -20 + 5, 0, 25],
  ["not sent", "the API's clock is 50 h behind, and 21 h have passed", -21, -50, -50 + 21],
  ["sent", "the API's clock is always 50 h ahead", undefined, 50, 50],
  ["sent", "the API's clock is always 5.5 h behind, and another process sends the action", -1, -5.5, -5.5],
  ["sent", "the API's clock was set back by 50 h", undefined, 0, -50],
  ["sent", "19 h have passed by both clocks", -19, 0, 19],
] as const)("an action is %s again if %s", async ([isSent, _how, movedHours, aheadFirst, aheadLater]) => {
  stub.clock.aheadMs = aheadFirst * HOUR_MS;
  await submitUnknown();
  if (movedHours !== undefined) await moveFirstAttempt(movedHours * HOUR_MS);
  stub.clock.aheadMs = aheadLater * HOUR_MS;
  if (isSent === "sent") stub.expect(...accepted);
  const { error, text } = await server.call("submit_job", createJob);
  if (isSent === "sent") return expect(text).toMatch(/^Resolved: the action ran once/);
  expect(error).toMatchObject(TOO_OLD);
  expect(stub.requests).toHaveLength(1);
});

test("an action whose first attempt is in the future is not sent again if the API's clock was not known", async () => {
  await submitUnknown();
  await moveFirstAttempt(25 * HOUR_MS, ", first_sent_api_at = NULL");
  const { error } = await server.call("submit_job", createJob);
  expect(error).toMatchObject({
    ...TOO_OLD,
    message: expect.stringContaining("in the future: the clock was set back"),
  });
  expect(stub.requests).toHaveLength(1);
});

test("the API's clock is recorded before the first request of a process, because the API may never answer that request", async () => {
  stub.clock.aheadMs = 5 * HOUR_MS;
  stub.expect(
    resetAfterReading,
    resetAfterReading,
    resetAfterReading,
    resetAfterReading,
    resetAfterReading,
    resetAfterReading,
  );
  await server.call("submit_job", createJob);
  await moveFirstAttempt(0);
  stub.clock.aheadMs = 55 * HOUR_MS;
  expect((await server.call("submit_job", createJob)).error).toMatchObject(TOO_OLD);
  expect(stub.requests).toHaveLength(6);
});

test("the Date of a cached answer, and of an answer without a token, is not the API's clock", async () => {
  await submitUnknown();
  stub.clock.aheadMs = 50 * HOUR_MS;
  stub.expectClock(answer(404, undefined, { age: "3" }));
  stub.expect(...accepted);
  const { text } = await server.call("submit_job", createJob);
  expect(text).toMatch(/^Resolved: the action ran once/);
});

test("the clock of deadlines advances with the faster of two clocks, never goes back, and does not drift", () => {
  const [system, monotonic] = [{ ms: 1_000_000 }, { ms: 50 }];
  const clockMs = createDeadlineClock(
    () => system.ms,
    () => monotonic.ms,
  );
  const advance = (systemMs: number, monotonicMs: number): number => {
    const before = clockMs();
    system.ms += systemMs;
    monotonic.ms += monotonicMs;
    return clockMs() - before;
  };
  expect(advance(10, 10)).toBe(10);
  expect(advance(-HOUR_MS, 20), "set back").toBe(20);
  expect(advance(30, 30)).toBe(30);
  expect(advance(HOUR_MS, 5), "suspended, or set forward").toBe(HOUR_MS);
  const start = clockMs();
  for (let n = 0; n < 10_000; n++) advance(n % 2, (n + 1) % 2);
  expect(clockMs() - start).toBe(5_000);
});

test.for([
  ["the system clock is set back", -HOUR_MS, 9_000],
  ["the machine is suspended", 30 * HOUR_MS, 0],
] as const)(
  "a call ends at its time limit and sends nothing later, even if %s",
  async ([_what, systemMs, monotonicMs]) => {
    const [system, monotonic] = [{ ms: Date.now() }, { ms: 0 }];
    const clockMs = createDeadlineClock(
      () => system.ms,
      () => monotonic.ms,
    );
    const timing = { ...eagerTiming, now: () => system.ms, clockMs };
    const { service } = clientForTest(stub.baseUrl, { timing });
    stub.respond(() => {
      // Each answer takes so long by one of the clocks.
      system.ms += systemMs;
      monotonic.ms += monotonicMs;
      return answer(409, { ...problem, status: 409, retryable: true });
    });
    const context = { signal: new AbortController().signal, deadlineAt: clockMs() + 45_000 };
    expect(await expectFailure(submitJob(service, context))).toMatchObject({ status: 409 });
    expect(stub.requests.length).toBeLessThanOrEqual(5);
  },
);
