// Tests which requests are retried: every attempt sends the same bytes under the same key (docs/contribute/architecture.md, "The way of a
// call").
import { expect } from "vitest";
import { listPlaygroundStates } from "../../src/contract/endpoints/playground.ts";
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
