// What an agent is told about an action that failed: did it take effect? "none" must be certain, and so must "done".
import { describe, expect } from "vitest";
import { enveloped, job, problem } from "../contract/samples.ts";
import { test } from "../support/fixtures.ts";
import {
  answer,
  cutShort,
  flood,
  neverAnswer,
  refusingBaseUrl,
  resetAfterReading,
  resetUnread,
} from "../support/stub.ts";
import { clientForTest, failureOf, KEY, submitJob, within } from "./client.ts";

const refusal = (status: number, facts: object = {}) => answer(status, { ...problem, status, ...facts });

describe("an action that never reached the service", () => {
  test("changed nothing when connections are refused", async () => {
    const { service } = clientForTest(await refusingBaseUrl());
    expect(await failureOf(submitJob(service))).toMatchObject({
      kind: "upstream_unavailable",
      sideEffect: "none",
      idempotencyKey: KEY,
    });
  });

  test("changed nothing when the host has no address", async () => {
    const { service } = clientForTest("https://service.invalid");
    expect(await failureOf(submitJob(service, within(2000)))).toMatchObject({
      kind: "upstream_unavailable",
      sideEffect: "none",
    });
  });

  test("changed nothing when connections are refused with the token at hand", async ({ stub }) => {
    const refusing = new URL(await refusingBaseUrl());
    const { service } = clientForTest(stub.baseUrl, {
      wrap: (real) => ({
        ...real,
        exchange(request, limits) {
          const isToken = request.path.endsWith("/oauth/token");
          return real.exchange(isToken ? request : { ...request, origin: refusing.origin }, limits);
        },
      }),
    });
    const facts = await failureOf(submitJob(service));
    expect(facts).toMatchObject({ kind: "upstream_unavailable", sideEffect: "none", idempotencyKey: KEY });
    expect(stub.tokenRequests).toHaveLength(1);
  });

  test("changed nothing when there is no token", async ({ stub }) => {
    stub.respondToToken(() => answer(503));
    const { service } = clientForTest(stub.baseUrl);
    expect(await failureOf(submitJob(service))).toMatchObject({ kind: "upstream_unavailable", sideEffect: "none" });
    expect(stub.requests).toHaveLength(0);
  });
});

describe("an action whose answer was lost every time", () => {
  test.for([
    ["reset unread", resetUnread],
    ["reset after reading", resetAfterReading],
    ["cut short", cutShort(202, enveloped(job), 30)],
    ["HTTP 500", answer(500)],
    ["HTTP 503", answer(503)],
    ["HTTP 504 with HTML", answer(504, "<html><h1>Gateway timeout</h1></html>", { "content-type": "text/html" })],
    ["HTTP 500 of many megabytes", flood(500, Buffer.alloc(65_536, "x"), 20_000_000)],
  ] as const)("has an unknown outcome: %s", async ([_, step], { stub, service }) => {
    stub.respond(() => step);
    const facts = await failureOf(submitJob(service));
    expect(facts).toMatchObject({
      kind: "outcome_unknown",
      sideEffect: "unknown",
      retryable: true,
      idempotencyKey: KEY,
    });
  });
});

describe("an action that was refused after an earlier answer was lost", () => {
  // The service asks who is calling before it looks at the key: such a refusal says nothing about the first attempt.
  test.for([
    ["unauthorized", answer(401), 401],
    ["unauthorized, by a Problem", refusal(401), 401],
    ["forbidden", refusal(403), 403],
    ["a version that has moved on", refusal(412), 412],
    ["a conflict", refusal(409, { retryable: false }), 409],
    ["a passing limit", answer(429, undefined, { "retry-after": "900" }), 429],
  ] as const)("may have taken effect: %s", async ([_, step, status], { stub, service }) => {
    stub.expect(resetAfterReading);
    stub.respond(() => step);
    expect(await failureOf(submitJob(service))).toMatchObject({ status, sideEffect: "unknown", idempotencyKey: KEY });
  });

  test("may have taken effect: no new token", async ({ stub, service }) => {
    stub.respondToToken(() =>
      stub.tokenRequests.length === 1
        ? answer(200, { access_token: "first-token" })
        : answer(400, { error: "invalid_client" }),
    );
    stub.expect(resetAfterReading, answer(401));
    expect(await failureOf(submitJob(service))).toMatchObject({ kind: "unauthorized", sideEffect: "unknown" });
  });

  test("changed nothing when its own bytes are refused: the first attempt had the same", async ({ stub, service }) => {
    stub.expect(resetAfterReading, refusal(422));
    expect(await failureOf(submitJob(service))).toMatchObject({ kind: "rejected", status: 422, sideEffect: "none" });
  });
});

describe("an action that was refused", () => {
  test.for([
    [400, "rejected"],
    [403, "forbidden"],
    [404, "not_found"],
    [409, "conflict"],
    [412, "precondition_failed"],
    [422, "rejected"],
  ] as const)("with HTTP %i changed nothing", async ([status, kind], { stub, service }) => {
    stub.expect(refusal(status, { retryable: false }));
    expect(await failureOf(submitJob(service))).toMatchObject({
      kind,
      status,
      sideEffect: "none",
      idempotencyKey: KEY,
    });
  });

  test("with a limit that does not fit the call changed nothing", async ({ stub, service }) => {
    stub.expect(answer(429, undefined, { "retry-after": "900" }));
    expect(await failureOf(submitJob(service))).toMatchObject({ kind: "rate_limited", sideEffect: "none" });
  });

  test("in many megabytes was refused all the same, not accepted", async ({ stub, service }) => {
    stub.respond(() => flood(400, Buffer.alloc(65_536, "x"), 20_000_000));
    expect((await failureOf(submitJob(service))).sideEffect).toBe("none");
  });
});

const html = { "content-type": "text/html" };
const page = answer(200, "<!doctype html><title>Sign in</title>", html);

describe("an action whose answer need not be the service's", () => {
  test.for([
    ["a page with another status", page, "HTML"],
    ["a page with the contract's status", answer(202, "<html>", html), "HTML"],
    ["no JSON", answer(202, "accepted"), "not valid JSON"],
    ["nothing", answer(202), "empty"],
    ["no content", answer(204), "204, not 202"],
    ["the envelope with another status", answer(200, enveloped(job)), "200, not 202"],
    ["no requestId", answer(202, { data: job, meta: {} }), "meta.requestId"],
    ["no data", answer(202, { ok: true, meta: { requestId: "r" } }), "no data"],
    ["a list", answer(202, { data: [job], meta: { requestId: "r" } }), "no data"],
    ["too many bytes", flood(202, Buffer.alloc(65_536, " "), 20_000_000), "larger than"],
  ] as const)(
    "is sent again, and has an unknown outcome when nothing else comes: %s",
    async ([_, step, words], { stub, service }) => {
      stub.respond(() => step);
      const facts = await failureOf(submitJob(service));
      expect(facts).toMatchObject({
        kind: "outcome_unknown",
        sideEffect: "unknown",
        retryable: true,
        idempotencyKey: KEY,
      });
      expect(facts.message).toContain(words);
      expect(facts.message).toMatch(/Ask the user to check MIC_BASE_URL: something in between/);
      expect(stub.requests.length).toBeGreaterThanOrEqual(3);
      expect(new Set(stub.requests.map(({ headers }) => headers["idempotency-key"]))).toEqual(new Set([KEY]));
    },
  );

  test("is told as soon as the service itself answers", async ({ stub, service }) => {
    stub.expect(page, answer(202, enveloped(job)));
    expect(await submitJob(service)).toMatchObject({ attempts: 2, value: { data: { id: job.id } } });
  });

  test("is refused for certain by a Problem alone: a page that refuses may be in between as well", async ({
    stub,
    service,
  }) => {
    stub.expect(page, answer(404, "<html>Not found</html>", html));
    expect(await failureOf(submitJob(service))).toMatchObject({ status: 404, sideEffect: "unknown" });
    stub.expect(page, refusal(422));
    expect(await failureOf(submitJob(service))).toMatchObject({ status: 422, sideEffect: "none" });
  });
});

test("an action that was accepted in the contract's envelope took effect, whatever else is wrong with it", async ({
  stub,
  service,
}) => {
  for (const data of [{ ...job, id: "" }, {}]) {
    stub.expect(answer(202, enveloped(data)));
    expect(await failureOf(submitJob(service))).toMatchObject({
      kind: "contract_violation",
      sideEffect: "done",
      retryable: false,
      idempotencyKey: KEY,
    });
  }
  expect(stub.requests).toHaveLength(2);
});

test("an action that is cancelled after a lost answer has an unknown outcome", async ({ stub, service }) => {
  const client = new AbortController();
  stub.expect(resetAfterReading);
  stub.respond(() => {
    setTimeout(() => client.abort(), 20);
    return neverAnswer;
  });
  expect(await failureOf(submitJob(service, within(5000, client.signal)))).toMatchObject({
    kind: "cancelled",
    sideEffect: "unknown",
  });
});
