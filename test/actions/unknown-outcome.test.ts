// What an agent is told of an action without an outcome: it can do exactly what the text says, and nothing happens twice.
import { expect, onTestFinished, test } from "vitest";
import { createJournal } from "../../src/actions/open.ts";
import { openSqlite } from "../../src/actions/sqlite.ts";
import { tooOldToResend, unknownOutcome, withRepeatAdvice } from "../../src/actions/unknown-outcome.ts";
import { createJob, enveloped, job } from "../contract/samples.ts";
import { folderForTest } from "../support/home.ts";
import { insideServer } from "../support/server.ts";
import { answer } from "../support/stub.ts";
import { benchForTest } from "./bench.ts";
import { newAction } from "./samples.ts";

async function bench() {
  const given = await benchForTest();
  return { ...given, server: await insideServer(given.env) };
}

const later = answer(503, undefined, { "retry-after": "60" });

test("an unknown outcome names the call that resolves it; made exactly so, it is the same action", async () => {
  const { stub, server } = await bench();
  stub.expect(later);
  const startedAt = Date.now();
  const { error, text } = await server.call("submit_job", createJob);
  expect(error).toMatchObject({ kind: "outcome_unknown", sideEffect: "unknown", retryable: true });
  expect(text).toMatch(/may or may not have taken effect/);
  expect(text).toMatch(/wait 60 s, then make exactly this call before/);
  const until = Date.parse(/before (\S+Z);/.exec(error?.next ?? "")?.[1] ?? "");
  expect(until - startedAt).toBeGreaterThanOrEqual(24 * 3_600_000);
  expect(until - Date.now()).toBeLessThanOrEqual(24 * 3_600_000);
  const [, tool = "", args = "{}"] = /twice: (\w+) (\{.*\})$/.exec(error?.next ?? "") ?? [];
  expect(JSON.parse(args)).toEqual({ ...createJob, idempotencyKey: error?.idempotencyKey });
  stub.expect(answer(202, enveloped(job)));
  const told = await server.call(tool, JSON.parse(args));
  expect(told.action).toEqual({ idempotencyKey: error?.idempotencyKey, replayed: false, attempts: 2 });
  const [first, second] = stub.requests;
  expect(second?.headers["idempotency-key"]).toBe(first?.headers["idempotency-key"]);
  expect(second?.body).toEqual(first?.body);
});

test("a call that was put off is told as such while nothing is in doubt, and stays unknown once something is", async () => {
  const { stub, server } = await bench();
  const limit = answer(429, undefined, { "retry-after": "60" });
  stub.expect(limit, later, limit);
  const putOff = await server.call("submit_job", createJob);
  expect(putOff.error).toMatchObject({ kind: "rate_limited", sideEffect: "none" });
  const call = { ...createJob, idempotencyKey: putOff.error?.idempotencyKey };
  expect((await server.call("submit_job", call)).error).toMatchObject({ kind: "outcome_unknown" });
  // The limit says nothing of what the attempt before it did.
  expect((await server.call("submit_job", createJob)).error).toMatchObject({
    kind: "outcome_unknown",
    sideEffect: "unknown",
    idempotencyKey: call.idempotencyKey,
  });
  expect(new Set(stub.requests.map(({ headers }) => headers["idempotency-key"])).size).toBe(1);
});

test("a refusal of the repeated call tells how else to find out", async () => {
  const { stub, server } = await bench();
  stub.expect(later, answer(403));
  await server.call("submit_job", createJob);
  const { error } = await server.call("submit_job", createJob);
  expect(error).toMatchObject({ kind: "forbidden", sideEffect: "unknown" });
  expect(error?.next).toMatch(
    /application's owner.*make exactly this call.*If that does not tell either: Look with list_jobs/s,
  );
});

test("an action from before the limit is not sent again, and says how to find out first", async () => {
  const { stub, server, stateDir, env } = await bench();
  stub.expect(later);
  const { error } = await server.call("submit_job", createJob);
  await server.end();
  const database = await openSqlite(stateDir);
  await database.query("UPDATE actions SET first_sent_at = first_sent_at - $1", [2 * 3_600_000]);
  await database.close();
  const next = await insideServer({ ...env, MIC_ACTION_RESEND_HOURS: "1" });
  for (const args of [createJob, { ...createJob, idempotencyKey: error?.idempotencyKey }]) {
    const told = await next.call("submit_job", args);
    expect(told.error).toMatchObject({ kind: "outcome_unknown", sideEffect: "unknown", retryable: false });
    expect(told.error?.message).toMatch(/more than 1 h ago.*it is not sent again/);
    expect(told.error?.next).toMatch(/^First find out: Look with list_jobs.*new idempotencyKey of your own/);
  }
  expect(stub.requests).toHaveLength(1);
  // Having found out that it did not happen, the agent does it under a key of its own.
  stub.expect(answer(202, enveloped(job)));
  const own = await next.call("submit_job", { ...createJob, idempotencyKey: "my-own-key-1" });
  expect(own.action).toEqual({ idempotencyKey: "my-own-key-1", replayed: false, attempts: 1 });
});

test("the same key for another call is refused here, naming what differs", async () => {
  const { stub, server } = await bench();
  stub.expect(answer(202, enveloped(job)));
  const idempotencyKey = "one-exact-command";
  await server.call("submit_job", { ...createJob, idempotencyKey });
  const other = await server.call("submit_job", { ...createJob, clientReference: "another", idempotencyKey });
  expect(other.error).toMatchObject({ kind: "conflict", sideEffect: "none", idempotencyKey });
  expect(other.error?.message).toMatch(/other arguments \(clientReference\); nothing was sent/);
  const cancel = await server.call("cancel_job", { jobId: "job-1", reason: "no", resourceVersion: 1, idempotencyKey });
  expect(cancel.error?.message).toMatch(/belongs to an action of submit_job; nothing was sent/);
  expect(stub.requests).toHaveLength(1);
});

test("list_actions is the agent's memory: by state, the latest first, after a restart too", async () => {
  const { stub, server, env } = await bench();
  const args = (name: string) => ({ ...createJob, clientReference: `plan ${name}` });
  stub.expect(answer(202, enveloped(job)), answer(422, {}), later);
  for (const name of ["a", "b", "c"]) await server.call("submit_job", args(name));
  await server.end();
  const next = await insideServer(env);
  const states = async (asked: object) => {
    const { structured } = await next.call("list_actions", asked);
    const actions: { state: string }[] = Object(structured).actions;
    return actions.map(({ state }) => state);
  };
  expect(await states({})).toEqual(["unknown", "rejected", "succeeded"]);
  for (const state of ["unknown", "rejected", "succeeded"]) expect(await states({ state })).toEqual([state]);
  expect(await states({ state: "open" })).toEqual([]);
  expect(await states({ limit: 2 })).toEqual(["unknown", "rejected"]);
  const [succeeded] = Object((await next.call("list_actions", { state: "succeeded" })).structured).actions;
  expect(succeeded).toEqual({
    tool: "submit_job",
    idempotencyKey: stub.requests[0]?.headers["idempotency-key"],
    state: "succeeded",
    resourceId: job.id,
    attempts: 1,
    createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
    updatedAt: expect.stringMatching(/^\d{4}-.*Z$/),
    about: createJob.recipeVersionId,
    arguments: args("a"),
  });
});

test("long arguments are not said again", () => {
  const stored = { key: "mic-1", first_sent_at: 0 };
  const call = { tool: "submit_job", arguments: { parameterValues: { text: "x".repeat(3000) } }, findOut: "Look." };
  const { next = "" } = withRepeatAdvice(unknownOutcome("Lost."), stored, call, 0).facts;
  expect(next).toContain('submit_job with the very same arguments and "idempotencyKey":"mic-1"');
  expect(next.length).toBeLessThan(400);
  expect(tooOldToResend(stored, call, 3_600_000).facts.next).toContain("Look.");
});

test("what was settled is forgotten after its time when the journal is opened; what is unknown is not", async () => {
  const stateDir = await folderForTest();
  const clock = { nowMs: Date.now() };
  const day = 86_400_000;
  const opened = async () => {
    const handle = createJournal({
      stateDir,
      url: undefined,
      retentionMs: 30 * day,
      repeatMs: 600_000,
      now: () => clock.nowMs,
      owner: "one",
    });
    onTestFinished(() => handle.close());
    return await handle.open();
  };
  const journal = await opened();
  for (const state of ["succeeded", "rejected", "unknown"] as const) {
    const open = await journal.insert(newAction({ key: state, subjectHash: state, workHash: state }));
    if (open)
      await journal.settle(open, { state, attempts: 1, outcome: "{}", repeatable: false, resourceId: undefined });
  }
  const keys = async () =>
    (await (await opened()).list(undefined, ["open", "succeeded", "rejected", "unknown"], 9)).map(({ key }) => key);
  clock.nowMs += 30 * day;
  expect((await keys()).sort()).toEqual(["rejected", "succeeded", "unknown"]);
  clock.nowMs += 1;
  expect(await keys()).toEqual(["unknown"]);
});
