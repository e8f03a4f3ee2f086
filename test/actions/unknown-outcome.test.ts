// Tests the texts about an action without an outcome: the agent can do exactly what they say, and no action runs twice.
import { beforeEach, expect, test } from "vitest";
import { openSqlite } from "../../src/store/sqlite.ts";
import { credentials } from "../api-client/client.ts";
import { createJob, enveloped, job, operation, problem } from "../contract/samples.ts";
import { type InProcessServer, inProcessServerForTest } from "../support/server.ts";
import { answer, type Stub } from "../support/stub.ts";
import { benchForTest } from "./bench.ts";

let stub: Stub;
let env: Readonly<Record<string, string>>;
let stateDir: string;
let server: InProcessServer;
beforeEach(async () => {
  ({ stub, env, stateDir } = await benchForTest());
  server = await inProcessServerForTest(env);
});

const later = answer(503, undefined, { "retry-after": "60" });

test("an unknown outcome names the call that resolves it, under the same key and with the same bytes", async () => {
  stub.expect(later);
  const startedAt = Date.now();
  const { error, text } = await server.call("submit_job", createJob);
  expect(error).toMatchObject({ kind: "outcome_unknown", sideEffect: "unknown", retryable: true });
  expect(text).toMatch(/may or may not have taken effect.*Wait 60 s, then call resolve_actions/s);
  const deadlineMs = Date.parse(/before (\S+Z):/.exec(error?.next ?? "")?.[1] ?? "");
  expect(deadlineMs - startedAt).toBeGreaterThanOrEqual(20 * 3_600_000);
  expect(deadlineMs - Date.now()).toBeLessThanOrEqual(20 * 3_600_000);
  expect(error?.next).toContain(`resolve_actions ${JSON.stringify({ idempotencyKey: error?.idempotencyKey })}`);
  stub.expect(answer(202, enveloped(job)), answer(200, enveloped({ ...job, state: "SUCCEEDED" })));
  const again = await server.call("submit_job", createJob);
  expect(again.action).toEqual({ idempotencyKey: error?.idempotencyKey, replayed: false });
  expect(again.text).toMatch(/^Resolved: the action ran once, at 2026-11-20 10:00:00 UTC\. The job .* SUCCEEDED/);
  const [first, second] = stub.requests;
  expect(second?.headers["idempotency-key"]).toBe(first?.headers["idempotency-key"]);
  expect(second?.body).toEqual(first?.body);
});

test("a call postponed by a 429 is reported as rate-limited, or as unknown if an earlier attempt has an unknown outcome", async () => {
  const limit = answer(429, undefined, { "retry-after": "60" });
  stub.expect(limit, later, limit);
  const putOff = await server.call("submit_job", createJob);
  expect(putOff.error).toMatchObject({ kind: "rate_limited", sideEffect: "none" });
  const call = { ...createJob, idempotencyKey: putOff.error?.idempotencyKey };
  expect((await server.call("submit_job", call)).error).toMatchObject({ kind: "outcome_unknown" });
  // The rate limit says nothing about the effect of the previous attempt.
  expect((await server.call("submit_job", createJob)).error).toMatchObject({
    kind: "outcome_unknown",
    sideEffect: "unknown",
    idempotencyKey: call.idempotencyKey,
  });
  expect(new Set(stub.requests.map(({ headers }) => headers["idempotency-key"])).size).toBe(1);
});

test("a refusal of the repeated call names another way to find the outcome", async () => {
  stub.expect(later, answer(403, { ...problem, status: 403 }));
  await server.call("submit_job", createJob);
  const { error } = await server.call("submit_job", createJob);
  expect(error).toMatchObject({ kind: "forbidden", sideEffect: "unknown" });
  expect(error?.next).toMatch(
    /resolve_actions .*, or make the same call again, .*If that does not show it: Look with list_jobs/s,
  );
});

test("an action that was first sent more than 20 h ago is not sent again, and the error states how to find its outcome", async () => {
  stub.expect(later);
  const { error } = await server.call("submit_job", createJob);
  await server.end();
  const database = await openSqlite(stateDir);
  await database.query("UPDATE actions SET first_sent_at = first_sent_at - $1", [21 * 3_600_000]);
  await database.close();
  const next = await inProcessServerForTest(env);
  for (const args of [createJob, { ...createJob, idempotencyKey: error?.idempotencyKey }]) {
    const result = await next.call("submit_job", args);
    expect(result.error).toMatchObject({
      ...{ kind: "outcome_unknown", sideEffect: "unknown", retryable: false },
      message: expect.stringMatching(/more than 20 h ago.*it is not sent again/),
      next: expect.stringMatching(/^First find out: resolve_actions \{.*call again with idempotencyKey again-/),
    });
  }
  expect(stub.requests).toHaveLength(1);
  // The agent has verified that the action did not run, and runs it under its own key. Then this is the latest action.
  stub.expect(answer(202, enveloped(job)), answer(200, enveloped(job)));
  const own = await next.call("submit_job", { ...createJob, idempotencyKey: "my-own-key-1" });
  expect(own.action).toEqual({ idempotencyKey: "my-own-key-1", replayed: false });
  expect((await next.call("submit_job", createJob)).action).toMatchObject({
    idempotencyKey: "my-own-key-1",
    replayed: true,
  });
});

test.each([
  ["accepted", answer(202, enveloped(job))],
  ["rejected", answer(422, problem)],
  ["in conflict", answer(409, { ...problem, retryable: false })],
])(
  "the same key for another call is refused before sending, and the error names the differing arguments: %s",
  {
    tags: ["7.2/assumes-no-answer-to-key-reuse"],
  },
  async (_, step) => {
    stub.expect(step);
    const idempotencyKey = "one-exact-command";
    await server.call("submit_job", { ...createJob, idempotencyKey });
    const other = await server.call("submit_job", { ...createJob, parameterValues: { another: 1 }, idempotencyKey });
    expect(other.error).toMatchObject({ kind: "conflict", sideEffect: "none" });
    expect(other.error).not.toHaveProperty("idempotencyKey");
    expect(other.error?.message).toMatch(/other arguments \(parameterValues\)\.$/);
    const cancel = await server.call("cancel_job", {
      jobId: "job-1",
      reason: "no",
      resourceVersion: 1,
      idempotencyKey,
    });
    expect(cancel.error?.message).toMatch(/belongs to an action of submit_job\.$/);
    expect(stub.requests).toHaveLength(1);
  },
);

test("list_actions lists unresolved actions with the call that resolves them, even after a restart, and shows no secret", async () => {
  const { clientSecret } = credentials;
  const args = (plan: string) => ({ ...createJob, parameterValues: { plan }, clientReference: `note ${clientSecret}` });
  stub.expect(answer(202, enveloped(job)), answer(422, problem), later);
  for (const name of ["a", "b", "c"]) await server.call("submit_job", args(name));
  await server.end();
  const { structured, text } = await (await inProcessServerForTest(env)).call("list_actions", {});
  expect(JSON.stringify(structured) + text).not.toContain(clientSecret);
  const [succeeded, rejected, idempotencyKey] = stub.requests.map(({ headers }) => headers["idempotency-key"]);
  expect(structured).toMatchObject({
    summary: "3 actions: 1 unknown, 1 rejected, 1 succeeded.",
    nextStep: { tool: "resolve_actions", arguments: {} },
    actions: [
      { idempotencyKey, state: "unknown" },
      { idempotencyKey: rejected, state: "rejected", code: problem.code },
      { idempotencyKey: succeeded, state: "succeeded", createdId: job.id },
    ],
  });
});

test("a repeated action sends the version and the texts of the first request, and reads nothing again", {
  tags: ["4.2/key-names-one-command", "4.2/if-match-form"],
}, async () => {
  stub.expect(
    answer(200, enveloped({ ...job, resourceVersion: 7 })),
    later,
    answer(202, enveloped(operation)),
    answer(200, enveloped(operation)),
    answer(200, enveloped(job)),
  );
  const first = await server.call("cancel_job", { jobId: job.id, reason: "no longer wanted" });
  expect(first.error).toMatchObject({ kind: "outcome_unknown" });
  await server.end();
  const next = await inProcessServerForTest(env);
  const result = await next.call("cancel_job", { reason: "The person does not want it any more.", jobId: job.id });
  expect(result.action).toMatchObject({ idempotencyKey: first.error?.idempotencyKey, replayed: false });
  const [, sent, again] = stub.requests.map(({ target, headers, body }) => ({
    target,
    key: headers["idempotency-key"],
    ifMatch: headers["if-match"],
    body: body.toString(),
  }));
  expect(sent).toMatchObject({ ifMatch: '"7"', body: expect.stringContaining("no longer wanted") });
  expect(again).toEqual(sent);
});
