// Tests which requests are retried: every attempt sends the same bytes under the same key (docs/contribute/architecture.md, "The way of a
// call"), after a delay.
import fc from "fast-check";
import { expect } from "vitest";
import { CALL_LIMIT_MS, waitBeforeRetry } from "../../src/api-client/attempts.ts";
import { parseRetryAfter } from "../../src/api-client/classify.ts";
import { listPlaygroundStates } from "../../src/contract/endpoints/playground.ts";
import { Failure } from "../../src/core/failure.ts";
import { enveloped, job, problem } from "../contract/samples.ts";
import { test } from "../support/fixtures.ts";
import {
  answer,
  answerTruncated,
  hangUp,
  type RecordedRequest,
  refusingBaseUrl,
  resetAfterReading,
  resetBeforeReading,
  type Step,
  sendRawBytes,
} from "../support/stub.ts";
import { clientForTest, createCallContext, expectFailure, KEY, readJob, submitJob } from "./client.ts";

const completeAnswer = answer(200, enveloped(job));
const accepted = answer(202, enveloped(job));
const refused = (status: number, retryable: boolean): Step => answer(status, { ...problem, status, retryable });

const passing: readonly (readonly [string, Step])[] = [
  ["a reset before the request is read", resetBeforeReading],
  ["a reset after the request is read", resetAfterReading],
  ["a connection closed without an answer", hangUp],
  ["an answer cut off in the middle", answerTruncated(200, enveloped(job), 40)],
  ...[408, 429, 500, 502, 503, 504].map((status) => [`HTTP ${status}`, answer(status)] as const),
  ["HTTP 503 with a Problem that says not retryable", refused(503, false)],
  ["bytes that are no HTTP", sendRawBytes("\x15\x03\x01\x00\x02\x02\x46")],
  ["the greeting of another protocol", sendRawBytes("SSH-2.0-OpenSSH_9.2p1\r\n")],
  ["HTTP of no known version", sendRawBytes("HTTP/9.9 200 OK\r\ncontent-length: 0\r\n\r\n")],
  ["a status line without a status", sendRawBytes("HTTP/1.1 OK\r\n\r\n")],
];

const lasting: readonly (readonly [string, Step])[] = [
  ...[400, 403, 404, 405, 409, 410, 412, 413, 415, 422, 428].map(
    (status) => [`HTTP ${status}`, answer(status)] as const,
  ),
  ["HTTP 409 with a Problem that says not retryable", refused(409, false)],
  ["HTTP 422 with a Problem that says retryable", refused(422, true)],
  ["HTTP 302", answer(302, undefined, { location: "/elsewhere" })],
];
const problems = [400, 403, 404, 412].map(
  (status) => [`HTTP ${status} with a Problem`, refused(status, false)] as const,
);
/** Wrong answers to a read. outcomes.test.ts tests such answers to an action. */
const wrong: typeof lasting = [
  ["HTTP 204", answer(204)],
  ["an HTML page", answer(200, "<html>")],
  ["an answer that breaks the contract", answer(200, { data: {} })],
];

const sentBytes = ({ method, target, headers, body }: RecordedRequest) => {
  const { connection: _, ...kept } = headers;
  return { method, target, headers: kept, body: body.toString() };
};

test.for(passing)("a read is retried after %s", async ([_, step], { stub, service }) => {
  stub.expect(step, step, completeAnswer);
  const { value, attempts } = await readJob(service);
  expect(value.data.id).toBe(job.id);
  expect(attempts).toBe(3);
  expect(new Set(stub.requests.map((request) => JSON.stringify(sentBytes(request)))).size).toBe(1);
});

test.for([...lasting, ...wrong, ["HTTP 409 with a Problem that says retryable", refused(409, true)] as const])(
  "a read is not retried after %s",
  async ([_, step], { stub, service }) => {
    stub.expect(step);
    expect((await expectFailure(readJob(service))).sideEffect).toBe("none");
    expect(stub.requests).toHaveLength(1);
  },
);

test("a read that gets a response other than HTTP reports an unavailable upstream, not an internal error", async ({
  stub,
  service,
}) => {
  stub.respond(() => sendRawBytes("220 mail.example ESMTP\r\n"));
  const facts = await expectFailure(readJob(service));
  expect(facts).toMatchObject({ kind: "upstream_unavailable", retryable: true, sideEffect: "none" });
  expect(facts.message).toContain("HTTP/1.1 protocol");
  expect(facts.next).toContain("MIC_BASE_URL");
});

test("a read is retried when the connection is refused, and ends after several attempts", async () => {
  let attempts = 0;
  const { service } = clientForTest(await refusingBaseUrl(), {
    wrap: (real) => ({
      ...real,
      exchange(request, limits) {
        attempts++;
        return real.exchange(request, limits);
      },
    }),
  });
  const facts = await expectFailure(service.call(listPlaygroundStates, {}, createCallContext(10_000)));
  expect(facts).toMatchObject({ kind: "upstream_unavailable", retryable: true, sideEffect: "none" });
  expect(facts.message).toContain("ECONNREFUSED");
  expect(attempts).toBeGreaterThanOrEqual(3);
  expect(attempts).toBeLessThanOrEqual(8);
});

for (const [cause, step] of [...passing, ["HTTP 409 with a Problem that says retryable", refused(409, true)] as const])
  test(`an action is sent again with the same key and the same bytes after ${cause} [4.2/key-names-one-command, 4.2/idempotency-key-required, 4.2/content-type]`, async ({
    stub,
    service,
  }) => {
    stub.expect(step, step, accepted);
    const { attempts } = await submitJob(service);
    expect(attempts).toBe(3);
    // A request that was reset before it was read has no recorded body.
    const read = stub.requests.filter(({ body }) => body.length > 0);
    expect(new Set(read.map((request) => JSON.stringify(sentBytes(request)))).size).toBe(1);
    for (const { headers } of stub.requests)
      expect(headers).toMatchObject({ "idempotency-key": KEY, "content-type": "application/json" });
  });

test.for([...lasting, ...problems])("an action is not sent again after %s", async ([what, step], { stub, service }) => {
  stub.expect(step);
  // A redirect may come from something in between.
  const sideEffect = what === "HTTP 302" ? "unknown" : "none";
  expect(await expectFailure(submitJob(service))).toMatchObject({ sideEffect, idempotencyKey: KEY });
  expect(stub.requests).toHaveLength(1);
});

const slept: number[] = [];

const createFailure = (retryAfter?: number): Failure =>
  new Failure({
    kind: "upstream_unavailable",
    message: "down",
    retryable: true,
    sideEffect: "none",
    ...(retryAfter !== undefined && { retryAfterSeconds: retryAfter }),
  });

/** Length of one delay in ms, or undefined if no further attempt was allowed. */
async function measureWait(
  attempt: number,
  failure: Failure,
  leftMs: number,
  random: number,
): Promise<number | undefined> {
  slept.length = 0;
  const context = { signal: new AbortController().signal, deadlineAt: 1_000_000 + leftMs };
  const again = await waitBeforeRetry(attempt, failure, context, {
    now: () => 1_000_000,
    random: () => random,
    sleep: async (ms) => void slept.push(ms),
  });
  expect(slept).toHaveLength(again ? 1 : 0);
  return slept[0];
}

test("a Retry-After that one of several requests receives delays the others", async () => {
  const sharedRetryAfter = { heldUntilAt: 0 };
  const waits: number[] = [];
  const wait = (failure: Failure, leftMs: number) =>
    waitBeforeRetry(
      1,
      failure,
      { signal: new AbortController().signal, deadlineAt: 1_000_000 + leftMs, sharedRetryAfter },
      { now: () => 1_000_000, random: () => 0, sleep: async (ms) => void waits.push(ms) },
    );
  expect(await wait(createFailure(7), CALL_LIMIT_MS)).toBe(true);
  expect(await wait(createFailure(), CALL_LIMIT_MS)).toBe(true);
  // A shorter Retry-After does not shorten a longer one.
  expect(await wait(createFailure(2), CALL_LIMIT_MS)).toBe(true);
  expect(await wait(createFailure(), 5_000)).toBe(false);
  expect(waits).toEqual([7_000, 7_000, 7_000]);
});

const unit = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

test("the delay is full jitter: uniform between 0 and a cap that doubles, at most 5 s", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 5 }), unit, async (attempt, random) => {
      const cap = Math.min(5000, 250 * 2 ** attempt);
      expect(await measureWait(attempt, createFailure(), CALL_LIMIT_MS, random)).toBeCloseTo(random * cap, 6);
    }),
  );
});

test("a delay that would not leave time for another attempt is not started", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 5 }),
      unit,
      fc.integer({ min: 0, max: 6000 }),
      async (attempt, random, leftMs) => {
        const ms = await measureWait(attempt, createFailure(), leftMs, random);
        if (ms !== undefined) expect(ms).toBeLessThan(leftMs);
      },
    ),
  );
});

const inProgress = new Failure({
  kind: "conflict",
  message: "in progress",
  status: 409,
  retryable: true,
  sideEffect: "none",
});

test("a key in progress (409) is retried until the deadline, with any number of attempts and a pause before each", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 500 }), unit, async (attempt, random) => {
      const ms = await measureWait(attempt, inProgress, CALL_LIMIT_MS, random);
      expect(ms).toBeGreaterThanOrEqual(250);
      expect(ms).toBeLessThanOrEqual(5000);
    }),
  );
  expect(await measureWait(1, inProgress, 300, 0)).toBeUndefined();
});

test("errors other than a key in progress have six attempts", async () => {
  expect(await measureWait(6, createFailure(), CALL_LIMIT_MS, 0)).toBeUndefined();
  expect(await measureWait(5, createFailure(), CALL_LIMIT_MS, 0)).toBe(0);
});

test("a Retry-After is obeyed in full if it fits the call; otherwise the call ends without a wait", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 100 }), unit, async (seconds, random) => {
      const ms = await measureWait(1, createFailure(seconds), CALL_LIMIT_MS, random);
      expect(ms).toBe(seconds * 1000 < CALL_LIMIT_MS - 250 ? seconds * 1000 : undefined);
    }),
  );
});

const now = Date.parse("2026-11-20T10:00:00.000Z");
const read = (text: string) => parseRetryAfter({ "retry-after": text }, now);

test("a Retry-After in seconds is read exactly", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), (seconds) => {
      expect(read(String(seconds))).toBe(seconds);
    }),
  );
});

test("a Retry-After date is read as the seconds until it", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10_000_000 }), (seconds) => {
      expect(read(new Date(now + seconds * 1000).toUTCString())).toBe(seconds);
    }),
  );
  expect(read("Friday, 20-Nov-26 10:00:07 GMT")).toBe(7);
});

test("a Retry-After of 0 or a past date waits 1 s, the minimum", () => {
  expect(read("0")).toBe(1);
  expect(read(new Date(now - 5000).toUTCString())).toBe(1);
});

test.each(["", " ", "soon", "-", "NaN", "Infinity", "later 5"])("Retry-After %j is ignored", (text) => {
  expect(read(text)).toBeUndefined();
});

test("a missing Retry-After header gives no delay", () => expect(parseRetryAfter({}, now)).toBeUndefined());
