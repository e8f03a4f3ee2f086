// Tests error answers of the API and the failure that the agent receives (docs/contract.md, 7; open question 2).
import { expect } from "vitest";
import { problem } from "../contract/samples.ts";
import { test } from "../support/fixtures.ts";
import { answer } from "../support/stub.ts";
import { expectFailure, readJob } from "./client.ts";

for (const [place, body] of [
  ["without a wrapper", problem],
  ["in the field error", { error: problem }],
  ["in the field problem", { problem }],
  ["in the field failure", { failure: problem, meta: { requestId: "req-9" } }],
  ["in the field data", { data: problem, meta: { requestId: "req-9" } }],
] as const)
  test(`a Problem is read ${place}`, { tags: ["7.2/problem"] }, async ({ stub, service }) => {
    stub.expect(answer(422, body, { "content-type": "application/problem+json" }));
    const facts = await expectFailure(readJob(service));
    const { fieldErrors } = problem;
    expect(facts).toMatchObject({ kind: "rejected", status: 422, sideEffect: "none", retryable: true, fieldErrors });
    expect(facts).toMatchObject({ code: "stage_failed", requestId: "req-2" });
    expect(facts.message).toContain(JSON.stringify(problem.title));
  });

test.for([
  ["a field error of the wrong shape", { fieldErrors: [{ pointer: 1 }, problem.fieldErrors[0]] }, 1],
  ["field errors that are not a list", { fieldErrors: "all of them" }, undefined],
  ["a title of a megabyte", { title: "x".repeat(1_000_000) }, 1],
  ["retryable as text", { retryable: "yes" }, 1],
] as const)(
  "a partly malformed Problem is read as far as possible: %s",
  async ([_, change, fieldErrors], { stub, service }) => {
    stub.expect(answer(422, { ...problem, ...change }));
    const facts = await expectFailure(readJob(service));
    expect(facts).toMatchObject({ kind: "rejected", status: 422, code: "stage_failed" });
    expect(facts.fieldErrors?.length).toBe(fieldErrors);
    expect(typeof facts.retryable).toBe("boolean");
    expect(facts.message.length).toBeLessThan(1000);
  },
);

test.for([
  ["HTML", "<!doctype html><title>502</title>", "text/html"],
  ["an empty body", "", "application/json"],
  ["broken JSON", '{"title":', "application/json"],
  ["text in another encoding", Buffer.from([0xff, 0xfe, 0x41]), "text/plain"],
  ["JSON of a gateway", '{"message":"no route"}', "application/json"],
] as const)(
  "an error without a Problem is reported with its status: %s",
  async ([_, body, type], { stub, service }) => {
    for (const [status, kind] of [
      [418, "rejected"],
      [429, "rate_limited"],
      [500, "upstream_unavailable"],
    ] as const) {
      stub.respond(() =>
        answer(status, body, { "content-type": type, "retry-after": "900", "x-request-id": "edge-77" }),
      );
      const facts = await expectFailure(readJob(service));
      expect(facts).toMatchObject({ kind, status, requestId: "edge-77" });
      expect(facts.message).toContain(`HTTP ${status}`);
      expect(facts.message).not.toContain("<");
    }
  },
);
