// Tests request_file_processing, expiresAt: a past instant is never sent, and a request sent in time is resumed later.
import { expect, onTestFinished, test, vi } from "vitest";
import { createProcessingRequest, micEnveloped, processingRequest } from "../contract/samples.ts";
import { clockForTest, HOUR_MS } from "../support/advanced-clock.ts";
import { answer, resetAfterReading } from "../support/stub.ts";
import { sessionForTest } from "../unspecified/session.ts";

const SLACK_MS = 5 * 60_000;
const inMs = (ms: number): string => new Date(Date.now() + ms).toISOString();
const accepted = answer(201, micEnveloped(processingRequest));
const readBack = answer(200, micEnveloped(processingRequest));

test("an expiry that is past by more than the clock tolerance is refused before sending; the API decides on any other", {
  tags: ["4.2/processing-request-expires-in-future"],
}, async () => {
  const { stub, connection } = await sessionForTest();
  const requestProcessing = (expiresAt: string, more = {}) =>
    connection.callTool("request_file_processing", { ...createProcessingRequest, expiresAt, ...more });
  const past = [
    "2020-01-01T00:00:00Z",
    "1970-01-01T00:00:00.000001Z",
    inMs(-SLACK_MS - 1000),
    inMs(-SLACK_MS - 1).replace("Z", "999Z"),
  ];
  for (const expiresAt of past) {
    const { error, text } = await requestProcessing(expiresAt);
    const fieldErrors = [{ pointer: "/expiresAt", code: "IN_THE_PAST" }];
    expect(error, text).toMatchObject({ kind: "invalid_arguments", sideEffect: "none", retryable: false, fieldErrors });
  }
  expect(stub.requests).toHaveLength(0);
  expect(stub.tokenRequests).toHaveLength(0);
  // 60 s of tolerance for a slow machine.
  const future = [inMs(-SLACK_MS + 60_000), inMs(0), inMs(60_000), "9999-12-31T23:59:59.999999Z"];
  for (const [at, expiresAt] of future.entries()) {
    stub.expect(accepted);
    // With a new key, because the expiry is a note: the same request would be a replay.
    expect((await requestProcessing(expiresAt, { idempotencyKey: `expiry-${at}` })).isError, expiresAt).toBe(false);
    expect(stub.requests.at(-1)?.body.toString()).toContain(`"expiresAt":"${expiresAt}"`);
  }
});

test("the server resumes and replays an action after its expiry if the action was sent in time", {
  tags: ["4.2/processing-request-expires-in-future", "4.2/key-names-one-command"],
}, async () => {
  const { stub, connection } = await sessionForTest();
  const passesAt = Date.now() + 60_000;
  const expiresAt = new Date(passesAt - SLACK_MS).toISOString();
  const args = { ...createProcessingRequest, expiresAt, idempotencyKey: "letter-expires-1" };
  stub.expect(resetAfterReading, answer(503, undefined, { "retry-after": "600" }));
  const lost = await connection.callTool("request_file_processing", args);
  expect(lost.error, lost.text).toMatchObject({ kind: "outcome_unknown", sideEffect: "unknown" });
  vi.setSystemTime(passesAt + 50);
  onTestFinished(() => void vi.useRealTimers());

  const another = { ...args, purpose: "Another purpose", idempotencyKey: "letter-expires-2" };
  const tooLate = await connection.callTool("request_file_processing", another);
  expect(tooLate.error).toMatchObject({ kind: "invalid_arguments", fieldErrors: [{ pointer: "/expiresAt" }] });

  stub.expect(accepted, readBack, readBack);
  const resumed = await connection.callTool("request_file_processing", args);
  expect(resumed.structured, resumed.text).toMatchObject({ action: { idempotencyKey: args.idempotencyKey } });
  const again = await connection.callTool("request_file_processing", args);
  expect(again.structured).toMatchObject({ action: { replayed: true } });
  const bodies = stub.requests.filter(({ method }) => method === "POST").map(({ body }) => body.toString());
  expect(bodies).toHaveLength(3);
  expect(new Set(bodies).size).toBe(1);
});

const LATER = "2126-12-20T10:00:00Z";

test.for([
  ["SUBMITTED", LATER, false],
  ["REVIEWABLE", LATER, false],
  ["APPROVED", LATER, false],
  ["APPROVED", "2001-01-01T00:00:00Z", true],
  ["REJECTED", LATER, true],
  ["REVOKED", LATER, true],
] as const)(
  "a request that was made 24 h ago and is %s until %s is made again: %s",
  async ([state, expiresAt, isRequested]) => {
    const { stub, connection } = await sessionForTest();
    const earlier = { ...processingRequest, state, expiresAt };
    stub.expect(answer(201, micEnveloped({ ...earlier, state: "SUBMITTED" })));
    await connection.callTool("request_file_processing", createProcessingRequest);
    clockForTest().advance(24 * HOUR_MS);
    const another = { ...createProcessingRequest, purpose: "Another purpose" };
    for (const args of [createProcessingRequest, another]) {
      const before = stub.requests.length;
      stub.respond(({ method }) => (method === "GET" ? answer(200, micEnveloped(earlier)) : accepted));
      const { text } = await connection.callTool("request_file_processing", args);
      const methods = stub.requests.slice(before).map(({ method }) => method);
      if (isRequested) {
        expect(methods, text).toContain("POST");
        expect(text).toMatch(
          / The earlier request micsharedrequest_\w+ (?:is (?:REJECTED|REVOKED)|expired at 2001\S+)\.$/m,
        );
        return;
      }
      expect(methods).toEqual(["GET"]);
      const [, idempotencyKey] = /pass idempotencyKey (again-\w+)\./.exec(text) ?? [];
      const again = await connection.callTool("request_file_processing", { ...args, idempotencyKey });
      expect(again.isError, again.text).toBe(false);
      if (args === createProcessingRequest) expect(stub.requests.at(-1)?.method).toBe("POST");
    }
  },
);
