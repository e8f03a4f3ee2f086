// An action whose call ends early, by its client or by its time: what has been sent may take effect all the same.
import { expect } from "vitest";
import { createMicJob } from "../../src/contract/endpoints/job-processing.ts";
import { encodeRequest } from "../../src/service/encode.ts";
import { createJob } from "../contract/samples.ts";
import { test } from "../support/fixtures.ts";
import { answer, neverAnswer } from "../support/stub.ts";
import { failureOf, KEY, submitJob, within } from "./client.ts";

test("a call that is cancelled while its request is out may have taken effect", async ({ stub, service }) => {
  const client = new AbortController();
  stub.respond(() => {
    setTimeout(() => client.abort(), 20);
    return neverAnswer;
  });
  expect(await failureOf(submitJob(service, within(10_000, client.signal)))).toMatchObject({
    kind: "cancelled",
    sideEffect: "unknown",
    idempotencyKey: KEY,
  });
  expect(stub.requests).toHaveLength(1);
});

test.for([
  [false, "none"],
  [true, "unknown"],
] as const)(
  "a call that is cancelled before it sends may have taken effect by an earlier one (%s), and else not",
  async ([lost, sideEffect], { stub, service }) => {
    const client = new AbortController();
    stub.respondToToken(() => {
      setTimeout(() => client.abort(), 20);
      return neverAnswer;
    });
    const encoded = encodeRequest(createMicJob, { body: createJob });
    const call = service.send(createMicJob, encoded, KEY, within(10_000, client.signal), { lost });
    expect(await failureOf(call)).toMatchObject({ kind: "cancelled", sideEffect });
    expect(stub.requests).toHaveLength(0);
  },
);

test("a request that is not answered in time may have taken effect", async ({ stub, service }) => {
  // Known beforehand, the token takes no time of the call.
  stub.expect(answer(422, {}));
  await failureOf(submitJob(service));
  stub.expect(neverAnswer);
  expect(await failureOf(submitJob(service, within(1_000)))).toMatchObject({
    kind: "outcome_unknown",
    sideEffect: "unknown",
    idempotencyKey: KEY,
  });
});
