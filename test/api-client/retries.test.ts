// Tests which requests are retried, after a delay, with the same bytes and key (docs/contribute/architecture.md, "Request lifecycle").

import fc from "fast-check";
import { expect } from "vitest";
import { CALL_LIMIT_MS, type FailedAttempt, waitBeforeRetry } from "../../src/api-client/attempts.ts";
import { parseRetryAfter } from "../../src/api-client/classify.ts";
import { listPlaygroundStates } from "../../src/contract/endpoints/playground.ts";
import { Failure } from "../../src/core/failure.ts";
import { say } from "../../src/core/text.ts";
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
  ["bytes that are not HTTP", sendRawBytes("\x15\x03\x01\x00\x02\x02\x46")],
  ["an unknown version of HTTP", sendRawBytes("HTTP/9.9 200 OK\r\ncontent-length: 0\r\n\r\n")],
];

/** test/tools/faults.test.ts tries more statuses, and answers that break the contract. */
const lasting: readonly (readonly [string, Step])[] = [
  ...[400, 404, 410, 412, 413, 415, 428].map((status) => [`HTTP ${status}`, refused(status, false)] as const),
  ["HTTP 409 with a Problem that says not retryable", refused(409, false)],
  ["HTTP 422 with a Problem that says retryable", refused(422, true)],
  ["HTTP 302", answer(302, undefined, { location: "/elsewhere" })],
];
const keyInProgress: (typeof lasting)[number] = ["HTTP 409 with a Problem that says retryable", refused(409, true)];

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

test.for([...lasting, keyInProgress])("a read is not retried after %s", async ([_, step], { stub, service }) => {
  stub.expect(step);
  expect((await expectFailure(readJob(service))).sideEffect).toBe("none");
  expect(stub.requests).toHaveLength(1);
});

test("a read that gets no HTTP response reports an unavailable upstream", async ({ stub, service }) => {
  stub.respond(() => sendRawBytes("220 mail.example ESMTP\r\n"));
  const facts = await expectFailure(readJob(service));
  expect(facts).toMatchObject({ kind: "upstream_unavailable", retryable: true, sideEffect: "none" });
  expect(facts.message).toContain("HTTP/1.1 protocol");
  expect(facts.next).toContain("MIC_BASE_URL");
});

test("a read is retried when the connection is refused, and ends after several attempts", async () => {
  const { service } = clientForTest(await refusingBaseUrl());
  const attempts: FailedAttempt[] = [];
  const context = { ...createCallContext(10_000), onFailedAttempt: (each: FailedAttempt) => void attempts.push(each) };
  const facts = await expectFailure(service.call(listPlaygroundStates, {}, context));
  expect(facts).toMatchObject({ kind: "upstream_unavailable", retryable: true, sideEffect: "none" });
  expect(facts.message).toContain("ECONNREFUSED");
  expect(attempts.map((each) => each.attempt)).toEqual([1, 2, 3, 4, 5]);
});

for (const [cause, step] of [...passing, keyInProgress])
  test(`an action is sent again with the same key and the same bytes after ${cause}`, {
    tags: ["4.2/key-names-one-command", "4.2/idempotency-key-required", "4.2/content-type"],
  }, async ({ stub, service }) => {
    stub.expect(step, step, accepted);
    const { attempts } = await submitJob(service);
    expect(attempts).toBe(3);
    // A request that was reset before it was read has no recorded body.
    const read = stub.requests.filter(({ body }) => body.length > 0);
    expect(new Set(read.map((request) => JSON.stringify(sentBytes(request)))).size).toBe(1);
    for (const { headers } of stub.requests)
      expect(headers).toMatchObject({ "idempotency-key": KEY, "content-type": "application/json" });
  });

const createFailure = (retryAfterSeconds?: number, status = 503): Failure =>
  new Failure({
    kind: status === 409 ? "conflict" : "upstream_unavailable",
    message: say`down`,
    status,
    retryable: true,
    sideEffect: "none",
    retryAfterSeconds,
  });

interface Waiting {
  readonly attempt?: number;
  readonly leftMs?: number;
  readonly random?: number;
  readonly requestedMs?: number;
}

/** Length of one delay in ms, or undefined if no further attempt was allowed. */
async function measureWait(
  failure: Failure,
  { attempt = 1, leftMs = CALL_LIMIT_MS, random = 0, requestedMs }: Waiting = {},
): Promise<number | undefined> {
  const slept: number[] = [];
  const context = { signal: new AbortController().signal, deadlineAt: 1_000_000 + leftMs };
  const sleep = async (ms: number) => void slept.push(ms);
  const timing = { now: () => 1_000_000, clockMs: () => 1_000_000, random: () => random, sleep };
  const again = await waitBeforeRetry(attempt, failure, context, timing, requestedMs);
  expect(slept).toHaveLength(again ? 1 : 0);
  return slept[0];
}

test("a Retry-After that one of several requests receives delays the others", async () => {
  expect(await measureWait(createFailure(7), { requestedMs: 3_000 })).toBe(7_000);
  expect(await measureWait(createFailure(), { requestedMs: 7_000 })).toBe(7_000);
  // A shorter Retry-After does not shorten a longer one.
  expect(await measureWait(createFailure(2), { requestedMs: 7_000 })).toBe(7_000);
  expect(await measureWait(createFailure(), { requestedMs: 7_000, leftMs: 5_000 })).toBeUndefined();
});

const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const attempt = fc.integer({ min: 1, max: 5 });

test("the delay is full jitter: uniform between 0 and a cap that doubles, at most 5 s, and leaves time for another attempt", async () => {
  const waiting = fc.record({
    attempt,
    random,
    leftMs: fc.oneof(fc.integer({ min: 0, max: 6000 }), fc.constant(CALL_LIMIT_MS)),
  });
  await fc.assert(
    fc.asyncProperty(waiting, async (each) => {
      const expected = each.random * Math.min(5000, 250 * 2 ** each.attempt);
      const ms = await measureWait(createFailure(), each);
      if (expected + 250 > each.leftMs) expect(ms).toBeUndefined();
      else expect(ms).toBeCloseTo(expected, 6);
    }),
  );
});

test("a key in progress (409) is retried until the deadline, with a pause before each attempt; other errors get six attempts", async () => {
  const inProgress = createFailure(undefined, 409);
  await fc.assert(
    fc.asyncProperty(fc.record({ attempt: fc.integer({ min: 1, max: 500 }), random }), async (each) => {
      const ms = await measureWait(inProgress, each);
      expect(ms).toBeGreaterThanOrEqual(250);
      expect(ms).toBeLessThanOrEqual(5000);
    }),
  );
  expect(await measureWait(inProgress, { leftMs: 300 })).toBeUndefined();
  expect(await measureWait(createFailure(), { attempt: 6 })).toBeUndefined();
  expect(await measureWait(createFailure(), { attempt: 5 })).toBe(0);
});

test("a Retry-After is obeyed in full if it fits the call; otherwise the call ends without a wait", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 100 }), random, async (seconds, each) => {
      const ms = await measureWait(createFailure(seconds), { random: each });
      expect(ms).toBe(seconds * 1000 < CALL_LIMIT_MS - 250 ? seconds * 1000 : undefined);
    }),
  );
});

const now = Date.parse("2026-11-20T10:00:00.000Z");
const read = (text: string) => parseRetryAfter({ "retry-after": text }, now);

test("a Retry-After is read exactly, in seconds or as a date, and is at least 1 s", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), fc.nat(10_000_000), (seconds, fromNow) => {
      expect(read(String(seconds))).toBe(seconds);
      expect(read(new Date(now + fromNow * 1000).toUTCString())).toBe(Math.max(1, fromNow));
    }),
  );
  expect(read("Friday, 20-Nov-26 10:00:07 GMT")).toBe(7);
  for (const [text, seconds] of [
    ["1.5", 2],
    ["0.2", 1],
    ["3.0", 3],
  ] as const)
    expect(read(text)).toBe(seconds);
  for (const text of ["0", new Date(now - 5000).toUTCString()]) expect(read(text)).toBe(1);
});

test("an invalid or missing Retry-After is ignored", () => {
  for (const text of ["", "soon", "-", "NaN", "Infinity", "later 5"]) expect(read(text), text).toBeUndefined();
  expect(parseRetryAfter({}, now)).toBeUndefined();
});
