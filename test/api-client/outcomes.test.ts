// Tests what a failed action reports about its effect: "none" and "done" must be certain.
import { expect } from "vitest";
import { encodeRequest } from "../../src/api-client/encode.ts";
import type { Transport } from "../../src/api-client/transport.ts";
import { createMicJob } from "../../src/contract/endpoints/job-processing.ts";
import { createJob, enveloped, job, problem } from "../contract/samples.ts";
import { test } from "../support/fixtures.ts";
import {
  answer,
  answerTruncated,
  flood,
  neverAnswer,
  refusingBaseUrl,
  resetAfterReading,
  resetBeforeReading,
  type Step,
} from "../support/stub.ts";
import { clientForTest, createCallContext, eagerTiming, expectFailure, KEY, readJob, submitJob } from "./client.ts";

const refusal = (status: number, facts: object = {}) => answer(status, { ...problem, status, ...facts });
const html = { "content-type": "text/html" };
const page = answer(200, "<!doctype html><title>Sign in</title>", html);
const tooLong = answer(429, undefined, { "retry-after": "900" });
const megabytes = (status: number, byte = "x") => flood(status, Buffer.alloc(65_536, byte), 20_000_000);

type OutcomeCase = readonly [what: string, step: Step, facts: object, first: readonly Step[]];
type CaseRow = readonly (readonly [what: string, step: Step, facts?: object])[];

const createCases = (
  title: string,
  facts: object,
  rows: CaseRow,
  first: readonly Step[] = [],
): readonly OutcomeCase[] =>
  rows.map(([what, step, more]) => [`${title}: ${what}`, step, { ...facts, ...more }, first]);

const UNKNOWN = { kind: "outcome_unknown", sideEffect: "unknown", retryable: true };

const outcomeCases: readonly OutcomeCase[] = [
  ...createCases("whose answer is lost every time has an unknown outcome", UNKNOWN, [
    ["reset unread", resetBeforeReading],
    ["reset after reading", resetAfterReading],
    ["cut short", answerTruncated(202, enveloped(job), 30)],
    ["HTTP 408, by a Problem", refusal(408)],
    ["HTTP 408 with HTML", answer(408, "<html>Request timeout</html>", html)],
    ["HTTP 500", answer(500)],
    ["HTTP 503", answer(503)],
    ["HTTP 503, by a Problem", refusal(503)],
    ["HTTP 504 with HTML", answer(504, "<html><h1>Gateway timeout</h1></html>", html)],
    ["HTTP 500 of many megabytes", megabytes(500)],
  ]),
  // The API authenticates before it looks up the key, so such a refusal says nothing about the first attempt.
  ...createCases(
    "refused after a lost answer may have taken effect",
    { sideEffect: "unknown" },
    [
      ["unauthorized", answer(401), { status: 401 }],
      ["unauthorized, by a Problem", refusal(401), { status: 401 }],
      ["forbidden", refusal(403), { status: 403 }],
      ["an outdated version", refusal(412), { status: 412 }],
      ["a conflict", refusal(409, { retryable: false }), { status: 409 }],
      ["a temporary limit", tooLong, { status: 429 }],
      // The first attempt itself may have changed the state: it used the input or retried the parent.
      ["nothing found", refusal(404), { kind: "not_found" }],
      ["withdrawn", refusal(410), { kind: "rejected" }],
      ["a state that does not fit", refusal(422), { kind: "rejected" }],
    ],
    [resetAfterReading],
  ),
  ...createCases(
    "whose bytes are refused after a lost answer changed nothing",
    { sideEffect: "none" },
    [400, 415].map((status) => [`HTTP ${status}`, refusal(status), { kind: "rejected", status }]),
    [resetAfterReading],
  ),
  ...createCases("that is refused by a Problem changed nothing", { sideEffect: "none" }, [
    ...[400, 403, 404, 409, 410, 412, 415, 422, 499].map(
      (status) => [`HTTP ${status}`, refusal(status, { retryable: false }), { status }] as const,
    ),
    ["wrapped", answer(422, { error: { ...problem, status: 422 } })],
    ["with a limit that does not fit the call", tooLong, { kind: "rate_limited" }],
  ]),
  ...createCases(
    "that a gateway refuses and does not forward changed nothing",
    { sideEffect: "none" },
    [401, 407, 413, 414, 431].map((status) => [`HTTP ${status}`, answer(status, "<html>", html)]),
  ),
  ...createCases("whose refusal is not a Problem may have taken effect", { sideEffect: "unknown" }, [
    ...[400, 403, 404, 409, 410, 412, 415, 421, 422, 425, 499].map(
      (status) => [`HTTP ${status} with HTML`, answer(status, "<html>", html), { status }] as const,
    ),
    ["a Problem without a request id", refusal(422, { requestId: undefined })],
    ["a Problem without a code", refusal(422, { code: undefined })],
    ["in many megabytes", megabytes(400), { kind: "rejected" }],
  ]),
  ...createCases(
    "that was accepted in the contract's envelope took effect, even if the answer is invalid",
    { kind: "contract_violation", sideEffect: "done", retryable: false },
    [
      ["an empty id", answer(202, enveloped({ ...job, id: "" }))],
      ["no fields", answer(202, enveloped({}))],
    ],
  ),
];

test.for(outcomeCases)("an action %s", async ([, step, facts, first], { stub, service }) => {
  stub.expect(...first);
  stub.respond(() => step);
  expect(await expectFailure(submitJob(service))).toMatchObject({ ...facts, idempotencyKey: KEY });
});

test.for([
  ["a page with another status", page, "HTML"],
  ["a page with the contract's status", answer(202, "<html>", html), "HTML"],
  ["no JSON", answer(202, "accepted"), "not valid JSON"],
  ["an empty body", answer(202), "empty"],
  ["no content", answer(204), "204, not 202"],
  ["the envelope with another status", answer(200, enveloped(job)), "200, not 202"],
  ["no requestId", answer(202, { data: job, meta: {} }), "meta.requestId"],
  ["no data", answer(202, { ok: true, meta: { requestId: "r" } }), "no data"],
  ["a list", answer(202, { data: [job], meta: { requestId: "r" } }), "no data"],
  ["too many bytes", megabytes(202, " "), "larger than"],
] as const)(
  "an action is sent again after an answer that may not be the API's; if no other follows, the outcome is unknown: %s",
  async ([_, step, expectedText], { stub, service }) => {
    stub.respond(() => step);
    const facts = await expectFailure(submitJob(service));
    expect(facts).toMatchObject({ ...UNKNOWN, idempotencyKey: KEY });
    expect(facts.message).toContain(expectedText);
    expect(facts.message).toMatch(/Ask the user to check MIC_BASE_URL: something in between/);
    expect(stub.requests.length).toBeGreaterThanOrEqual(3);
    expect(new Set(stub.requests.map(({ headers }) => headers["idempotency-key"]))).toEqual(new Set([KEY]));
  },
);

test("an action that is refused after an HTML page may have taken effect", async ({ stub, service }) => {
  stub.expect(page, refusal(422));
  expect(await expectFailure(submitJob(service))).toMatchObject({ status: 422, sideEffect: "unknown" });
});

test("an action whose token is refused with an HTML page may have taken effect, even if the next answer is a Problem", async ({
  stub,
}) => {
  let ageMs = 0;
  const { service } = clientForTest(stub.baseUrl, { timing: { ...eagerTiming, now: () => Date.now() + ageMs } });
  stub.expect(answer(422, { ...problem, status: 422 }));
  await expectFailure(submitJob(service));
  ageMs = 120_000;
  stub.expect(answer(403, "<html>Forbidden</html>", html), refusal(422));
  expect(await expectFailure(submitJob(service))).toMatchObject({ status: 422, sideEffect: "unknown" });
});

test("an action changed nothing if the host, the token or the connection failed before the action was sent", async ({
  stub,
}) => {
  const { origin, port } = new URL(await refusingBaseUrl());
  const isToken = (path: string): boolean => path.endsWith("/oauth/token");
  const withRefusedAction = (real: Transport): Transport => ({
    ...real,
    exchange: (request, limits) => real.exchange(isToken(request.path) ? request : { ...request, origin }, limits),
  });
  const facts = { kind: "upstream_unavailable", sideEffect: "none", idempotencyKey: KEY };
  for (const { service } of [
    clientForTest(origin),
    clientForTest(`http://localhost:${port}`),
    clientForTest("https://service.invalid"),
    clientForTest(stub.baseUrl, { wrap: withRefusedAction }),
  ])
    expect(await expectFailure(submitJob(service, createCallContext(2000)))).toMatchObject(facts);
  expect(stub.tokenRequests).toHaveLength(1);
  stub.respondToToken(() => answer(503));
  expect(await expectFailure(submitJob(clientForTest(stub.baseUrl).service))).toMatchObject(facts);
  expect(stub.requests).toHaveLength(0);
});

test("an action whose token renewal fails after a lost answer may have taken effect", async ({ stub, service }) => {
  stub.respondToToken(() =>
    stub.tokenRequests.length === 1
      ? answer(200, { access_token: "first-token" })
      : answer(400, { error: "invalid_client" }),
  );
  stub.expect(resetAfterReading, answer(401));
  expect(await expectFailure(submitJob(service))).toMatchObject({ kind: "unauthorized", sideEffect: "unknown" });
});

// Actions whose call ends early, by cancellation or timeout: a request that was sent may still take effect.

test.for([
  ["a call that is canceled while its request is in flight", []],
  ["a call that is canceled after a lost answer", [resetAfterReading]],
] as const)("%s may have taken effect", async ([_, first], { stub, service }) => {
  const client = new AbortController();
  stub.expect(...first);
  stub.respond(() => {
    setTimeout(() => client.abort(), 20);
    return neverAnswer;
  });
  const facts = { kind: "cancelled", sideEffect: "unknown", idempotencyKey: KEY };
  expect(await expectFailure(submitJob(service, createCallContext(10_000, client.signal)))).toMatchObject(facts);
  expect(stub.requests).toHaveLength(1 + first.length);
});

test.for([
  [false, "none"],
  [true, "unknown"],
] as const)(
  "a call that is canceled before it sends may have taken effect only if an earlier call may have (%s)",
  async ([lost, sideEffect], { stub, service }) => {
    const client = new AbortController();
    stub.respondToToken(() => {
      setTimeout(() => client.abort(), 20);
      return neverAnswer;
    });
    const encoded = encodeRequest(createMicJob, { body: createJob });
    const call = service.send(createMicJob, encoded, KEY, createCallContext(10_000, client.signal), {
      mayHaveTakenEffect: lost,
    });
    expect(await expectFailure(call)).toMatchObject({ kind: "cancelled", sideEffect });
    expect(stub.requests).toHaveLength(0);
  },
);

test("a call that is canceled after a lost answer and a refused connection may have taken effect", async ({ stub }) => {
  const { origin } = new URL(await refusingBaseUrl());
  const client = new AbortController();
  let waits = 0;
  const { service } = clientForTest(stub.baseUrl, {
    timing: {
      ...eagerTiming,
      sleep(ms, signal) {
        waits++;
        if (waits === 2) client.abort();
        return eagerTiming.sleep(ms, signal);
      },
    },
    wrap: (real) => ({
      ...real,
      exchange: (request, limits) => real.exchange(waits === 1 ? { ...request, origin } : request, limits),
    }),
  });
  stub.expect(resetAfterReading);
  expect(await expectFailure(submitJob(service, createCallContext(10_000, client.signal)))).toMatchObject({
    kind: "cancelled",
    sideEffect: "unknown",
  });
});

test("a call that is canceled while its request waits for a free connection changed nothing", async ({ stub }) => {
  const [client, first] = [new AbortController(), new AbortController()];
  const { service } = clientForTest(stub.baseUrl, { connections: 1 });
  // Both calls have their token before the only connection is taken.
  stub.expect(answer(422, {}), answer(404));
  await expectFailure(submitJob(service));
  await expectFailure(readJob(service));
  stub.respond(() => {
    setTimeout(() => client.abort(), 20);
    return neverAnswer;
  });
  const running = expectFailure(readJob(service, createCallContext(10_000, first.signal)));
  expect(await expectFailure(submitJob(service, createCallContext(10_000, client.signal)))).toMatchObject({
    kind: "cancelled",
    sideEffect: "none",
  });
  first.abort();
  await running;
});

test("a request that times out may have taken effect", async ({ stub, service }) => {
  // A cached token takes no time of the call.
  stub.expect(answer(422, {}));
  await expectFailure(submitJob(service));
  stub.expect(neverAnswer);
  expect(await expectFailure(submitJob(service, createCallContext(1_000)))).toMatchObject({
    ...UNKNOWN,
    idempotencyKey: KEY,
  });
});
