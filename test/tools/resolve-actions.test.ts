// Tests resolve_actions and the server's instructions: after a server was killed in the middle of actions, with the same journal and
// an emulator that counts executions; and how the list of jobs is read, with a stub.
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import * as z from "zod/v4";
import { openSqlite } from "../../src/store/sqlite.ts";
import { benchForTest } from "../actions/bench.ts";
import { copyAction } from "../actions/samples.ts";
import { createJob, enveloped, job, problem } from "../contract/samples.ts";
import type { Service } from "../emulator/service.ts";
import {
  createJobBodyForFile,
  createProcessingBody,
  FILE,
  findOneInputOffer,
  readJob,
  submitJob,
} from "../emulator/work.ts";
import { operations } from "../operations.ts";
import { clockForTest, HOUR_MS } from "../support/advanced-clock.ts";
import { fakeClockCommand, fakeClockMissing } from "../support/fake-clock.ts";
import { inProcessClientForTest } from "../support/mcp.ts";
import { type InProcessServer, inProcessServerForTest, startServer } from "../support/server.ts";
import { answer, type Stub } from "../support/stub.ts";
import {
  createJobIn,
  createScene,
  type KilledCall,
  Listed,
  list,
  Resolved,
  Result,
  reason,
  resolve,
  UNRESOLVED,
} from "./killed-server.ts";

async function cancelJob(service: Service, jobId: string): Promise<void> {
  const { resourceVersion } = await readJob(service, jobId);
  await service.ok(operations.cancelMicJob, { path: { jobId }, ifMatch: `"${resourceVersion}"`, body: { reason } });
}

async function retryJob(service: Service, jobId: string) {
  const body = { retryMode: "SAFE_RESUME", reason } as const;
  return (await service.ok(operations.retryMicJob, { path: { jobId }, body })).data;
}

describe("after a server was killed in the middle of an action", () => {
  test("a new session's instructions, list_actions and resolve_actions find the outcome", async () => {
    const { killDuring, connect, server, registration, executions } = await createScene();
    await killDuring([registration(FILE.succeeds), { ...registration(FILE.failsForGood), arrives: false }]);

    const talk = await server();
    const listed = await list(talk);
    expect(listed.summary).toBe("2 actions: 2 unknown.");
    const [first, second] = listed.actions;
    const ofFirst = { idempotencyKey: first?.idempotencyKey };
    expect(listed.nextStep).toMatchObject({ tool: "resolve_actions", arguments: {} });
    expect(JSON.stringify(listed.actions)).not.toMatch(/nextStep|arguments/);

    const one = await resolve(talk, ofFirst);
    expect((await list(talk)).nextStep?.arguments).toEqual({ idempotencyKey: second?.idempotencyKey });
    expect(one.results).toMatchObject([{ ...ofFirst, outcome: "resolved" }]);
    expect(one.results[0]?.["finding"]).toMatch(
      /^Resolved: the action ran once, at (\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d UTC\.$/,
    );
    expect(one.nextStep).toBeUndefined();
    expect(await executions("createMicPublicInput")).toBe(1);

    expect((await connect()).instructions()).toContain(
      "1 action of an earlier session has an unknown outcome: call resolve_actions.",
    );
    const rest = await resolve(talk);
    expect(rest.results).toMatchObject([{ idempotencyKey: second?.idempotencyKey, outcome: "resolved" }]);
    expect(await executions("createMicPublicInput")).toBe(2);
    const again = await resolve(talk, ofFirst);
    expect(again.results).toMatchObject([{ outcome: "resolved", createdId: one.results[0]?.createdId }]);
    expect(await executions("createMicPublicInput")).toBe(2);
    expect((await connect()).instructions()).not.toContain(UNRESOLVED);
  });

  test("an action of each tool runs only once, even if two processes resolve it at the same moment", async () => {
    const { killDuring, env, server, service, executions, registration, cancellation, retry, failedJob, pausedJob } =
      await createScene();
    const running = await pausedJob();
    const failed = await failedJob();
    const body = await createJobBodyForFile(service, FILE.succeeds);
    const [inputId = ""] = service.emulator.inputIds;
    const permission = createProcessingBody(service, await findOneInputOffer(service), inputId);
    const calls: readonly KilledCall[] = [
      registration(FILE.failsForGood),
      { ...registration(FILE.succeeds), arrives: false },
      { ...registration(FILE.pauses), arrives: false },
      { tool: "submit_job", operationId: "createMicJob", args: body },
      cancellation(running.id),
      retry(failed.id),
      { tool: "request_file_processing", operationId: "requestMicSharedFileProcessing", args: permission },
    ];
    const operationIds = calls.map(({ operationId }) => operationId);
    const countAll = () => Promise.all(operationIds.map(executions));
    const before = await countAll();
    await killDuring(calls);
    const servers = await Promise.all([server(), startServer({ env })]);
    const answers = await Promise.all(servers.map((each) => each.call("resolve_actions", {})));
    for (const answer of answers)
      for (const { outcome } of Resolved.parse(answer.structured).results)
        expect(["resolved", "in progress"]).toContain(outcome);
    expect((await list(servers[0])).summary).toBe("7 actions: 7 succeeded.");
    const made = (operationId: string) => operationIds.filter((each) => each === operationId).length;
    expect(await countAll()).toEqual(before.map((count, at) => count + made(operationIds[at] ?? "")));
  });

  test("an action is sent again under its key even if an identical one succeeded later", async () => {
    const { killDuring, server, registration, executions, env } = await createScene();
    const registered = registration(FILE.succeeds);
    await killDuring([{ ...registered, arrives: true }]);
    // An identical success under another key: this server makes none while an action is unresolved, but an earlier version did.
    const database = await openSqlite(env.MIC_STATE_DIR);
    const [{ idempotencyKey = "" } = {}] = (await list(await server())).actions;
    await copyAction(database, idempotencyKey, 1, {
      ...{ key: "'another-key'", fingerprint: "fingerprint", slot: "0", state: "'succeeded'" },
      ...{ outcome: `'{"value":1,"drift":[]}'`, created_at: "created_at + 1", resolved_at: "updated_at" },
    });
    await database.close();
    const talk = await server();
    const { actions, nextStep } = await list(talk);
    expect(actions[0]).toMatchObject({ state: "unknown" });
    expect(nextStep).toMatchObject({ tool: "resolve_actions" });
    expect((await resolve(talk)).results).toMatchObject([{ outcome: "resolved", createdId: expect.any(String) }]);
    expect(await executions("createMicPublicInput")).toBe(1);
  });

  test("actions whose repetition is refused are resolved by reading, and run at most once", async () => {
    const scene = await createScene();
    const { killDuring, server, service, sent, registration, cancellation, retry, pausedJob, failedJob } = scene;
    const refused = (status: number) => ({ kind: "status", status, code: "REFUSED", retryable: false });
    const unavailable = { kind: "status", status: 503, retryAfterSeconds: 120 };
    const didNot = /^Resolved: it did not take effect/;
    const retried = /^Resolved: Job micjob_\w+ was retried as job micjob_\w+, by this call or by another client\.$/;
    const canceled = await pausedJob();
    // The call, whether it arrived, the answer to its repetition, and the result.
    const cases = [
      [
        cancellation(canceled.id),
        true,
        refused(412),
        "resolved",
        /Job .* was canceled, by this call or by another client\.$/,
      ],
      [cancellation((await pausedJob()).id), false, refused(412), "still unknown", /PAUSED/],
      [retry((await failedJob()).id), true, refused(409), "resolved", retried],
      [retry((await failedJob()).id), false, refused(409), "still unknown", /call again in 5 min\.$/],
      [registration(FILE.failsForGood), false, refused(400), "rejected", didNot],
      // The API may refuse the repetition because of the first execution.
      [registration(FILE.failsRetryably), false, refused(422), "still unknown", /An attempt may have taken effect/],
      [registration(FILE.succeeds), false, unavailable, "still unknown", /./],
    ] as const;
    const keyOf = (at: number) => `lost-action-${at}`;
    const withKey = ({ args, ...call }: KilledCall, at: number) => ({
      ...call,
      args: { ...args, idempotencyKey: keyOf(at) },
    });
    await killDuring(cases.map(([call, arrives], at) => ({ ...withKey(call, at), arrives })));
    await scene.isCanceled(canceled.id);
    const talk = await server();
    for (const [at, [{ tool, operationId }, arrives, fault, outcome, finding]] of cases.entries()) {
      const idempotencyKey = keyOf(at);
      await service.injectFault(fault, { operationId });
      const { results, nextStep, summary } = await resolve(talk, { idempotencyKey });
      expect(results, `${tool} ${at}`).toMatchObject([{ outcome, finding: expect.stringMatching(finding) }]);
      expect(nextStep).toBeUndefined();
      if (fault.status === 503)
        expect(summary).toMatch(/Call again after [-\d: ]+ UTC \(in 2 min\); no action runs twice\.$/);
      expect(await service.countExecutions(idempotencyKey)).toBe(arrives ? 1 : 0);
      const requests = await sent(operationId);
      const again = await resolve(talk, { idempotencyKey });
      if (outcome !== "still unknown") expect(await sent(operationId)).toBe(requests);
      else if (tool === "register_input") {
        expect(again.results).toMatchObject([{ outcome: "resolved" }]);
        expect(await service.countExecutions(idempotencyKey)).toBe(1);
      }
    }
  });
});

describe("confirmation of resolve_actions", () => {
  test("one question covers all cancellations and restarts; if the user declines, nothing is sent", async () => {
    const scene = await createScene();
    const { killDuring, connectWithUser, cancellation, retry, registration, failedJob, pausedJob } = scene;
    const { sent, executions } = scene;
    const running = await pausedJob();
    const failed = await failedJob();
    const registered = await executions("createMicPublicInput");
    const calls = [registration(FILE.failsForGood), cancellation(running.id), retry(failed.id, "RESTART")];
    await killDuring(calls.map((call) => ({ ...call, arrives: false })));
    const before = [await sent("cancelMicJob"), await sent("createMicPublicInput")];
    const { client, questions, user } = await connectWithUser("decline");
    const declined = await client.callTool("resolve_actions", {});
    expect(declined.structured).toMatchObject({ declined: true });
    expect([await sent("cancelMicJob"), await sent("createMicPublicInput")]).toEqual(before);
    expect(questions).toHaveLength(1);
    expect(questions[0]).toContain(`cancel job ${running.id} (PAUSED); run job ${failed.id} again from the start`);
    user.action = "accept";
    const { results } = Resolved.parse((await client.callTool("resolve_actions", {})).structured);
    expect(results.map(({ outcome }) => outcome)).toEqual(["resolved", "resolved", "resolved"]);
    expect(questions).toHaveLength(2);
    expect(await executions("cancelMicJob")).toBe(1);
    expect(await executions("retryMicJob")).toBe(1);
    expect(await executions("createMicPublicInput")).toBe(registered + 1);
  });

  test("the question about a decision says that a recent action is sent again first, and what that discards", async () => {
    const { killDuring, connectWithUser, cancellation, registration, pausedJob, sent } = await createScene();
    const { id } = await pausedJob();
    await killDuring([cancellation(id), registration(FILE.succeeds)].map((call) => ({ ...call, arrives: false })));
    const before = [await sent("cancelMicJob"), await sent("createMicPublicInput")];
    const { client, questions } = await connectWithUser("decline");
    for (const { idempotencyKey } of Listed.parse((await client.callTool("list_actions")).structured).actions)
      await client.callTool("resolve_actions", { idempotencyKey, outcome: "none" });
    const again =
      "again under its key and, only if that does not show its outcome, record that it did not take effect?";
    expect(questions[0]).toBe(
      `Send cancel_job ${id} ${again} If one never arrived, it takes effect now, and finished work is discarded: cancel job ${id} (PAUSED).`,
    );
    expect(questions[1]).toMatch(/^Send register_input /);
    expect(questions[1]?.endsWith(again)).toBe(true);
    expect([await sent("cancelMicJob"), await sent("createMicPublicInput")]).toEqual(before);
  });
});

const note = fakeClockMissing === undefined ? "" : ` (skipped: ${fakeClockMissing})`;

describe.skipIf(fakeClockMissing !== undefined)(`21 h later${note}`, () => {
  const under = fakeClockCommand(-21 * 3_600);

  test("cancellations and retries that are 21 h old are resolved by reading, and nothing is sent", async () => {
    const { service, killDuring, server, cancellation, retry, failedJob, pausedJob, isCanceled, sent, executions } =
      await createScene();
    const [canceled, missed] = [await pausedJob(), await pausedJob()];
    const [retried, left] = [await failedJob(), await failedJob()];
    const calls = [
      cancellation(canceled.id),
      { ...cancellation(missed.id), arrives: false },
      retry(retried.id),
      { ...retry(left.id, "RESTART"), arrives: false },
    ];
    await killDuring(calls, under);
    await isCanceled(canceled.id);
    const before = [await sent("cancelMicJob"), await sent("retryMicJob")];

    const talk = await server();
    const { results, summary, nextStep } = await resolve(talk);
    expect(results.map(({ targetId, outcome }) => [targetId, outcome])).toEqual([
      [canceled.id, "resolved"],
      [missed.id, "still unknown"],
      [retried.id, "resolved"],
      [left.id, "rejected"],
    ]);
    expect(summary).toBe("4 actions: 2 resolved, 1 still unknown, 1 rejected.");
    // The same call would find out no more before the job has ended.
    expect(nextStep).toBeUndefined();
    expect(results[1]?.finding).toMatch(
      /call again after wait_for_jobs .*call cancel_job with idempotencyKey again-\w+\.$/,
    );
    expect([await sent("cancelMicJob"), await sent("retryMicJob")]).toEqual(before);
    const [, , made] = results;
    const replay = await talk.call("retry_job", { jobId: retried.id, retryMode: "SAFE_RESUME", reason });
    expect(replay.structured).toMatchObject({ data: { id: made?.createdId }, action: { replayed: true } });
    expect(replay.text).toMatch(
      /^Not run again\. Job micjob_\w+ was retried as job micjob_\w+, by this call or by another client\./,
    );
    expect(await executions("retryMicJob")).toBe(1);
    expect((await list(talk)).summary).toBe("4 actions: 1 unknown, 1 rejected, 2 succeeded.");
    // Whether a job that still runs was canceled is certain only at its end, by whichever client.
    await cancelJob(service, missed.id);
    await isCanceled(missed.id);
    expect((await resolve(talk)).results[0]?.["finding"]).toContain("was canceled, by this call or by another client.");
  });

  test.for([true, false])(
    "a submission is not resolved by a job of the same recipe; the user decides (the first call ran: %s)",
    async (arrives) => {
      const { killDuring, server, connectWithUser, service, executions, sent } = await createScene();
      const body = await createJobBodyForFile(service, FILE.succeeds);
      await killDuring(
        [{ tool: "submit_job", operationId: "createMicJob", args: body, arrives }],
        under,
        "get_capabilities",
      );
      const { id: foreign } = await submitJob(service, FILE.succeeds);
      const before = await sent("createMicJob");
      const talk = await server();
      const repeated = await talk.call("submit_job", body);
      expect(repeated.error).toMatchObject({ kind: "outcome_unknown", sideEffect: "unknown" });
      expect(repeated.error?.next).toMatch(/^First find out: resolve_actions \{"idempotencyKey"/);
      const { results, nextStep } = await resolve(talk);
      expect(nextStep).toBeUndefined();
      const Undecided = Result.extend({ outcome: z.literal("still unknown"), candidates: z.array(z.string()) });
      const [{ candidates, finding, idempotencyKey }] = z.tuple([Undecided]).parse(results);
      expect(candidates).toHaveLength(arrives ? 2 : 1);
      expect(candidates).toContain(foreign);
      expect(finding).toContain(
        "each by this call or by another client. Ask the user to decide which of them this call created",
      );
      expect((await list(talk)).summary).toBe("1 action: 1 unknown.");

      const { id: retried } = await createJobIn("FAILED", service, FILE.failsRetryably);
      const { id: retry } = await retryJob(service, retried);
      const wrong = await talk.call("resolve_actions", { idempotencyKey, jobId: retry });
      expect(wrong.error).toMatchObject({ kind: "invalid_arguments" });
      const decision = arrives ? { jobId: candidates.find((id) => id !== foreign) } : { outcome: "none" };
      const { client, questions } = await connectWithUser("accept");
      const decided = await client.callTool("resolve_actions", { idempotencyKey, ...decision });
      expect(questions[0]).toMatch(
        arrives ? /^Record that submit_job .* created job / : /^Record that submit_job .* did not take effect\?$/,
      );
      expect(Resolved.parse(decided.structured).results).toMatchObject([
        arrives ? { outcome: "resolved", createdId: decision.jobId } : { outcome: "rejected" },
      ]);
      const ran = await executions("createMicJob");
      const again = await talk.call("submit_job", body);
      expect(again.text).toMatch(arrives ? /^Not run again\. The user decided that job / : /^The job is /);
      expect((await executions("createMicJob")) - ran).toBe(arrives ? 0 : 1);
      expect((await sent("createMicJob")) - before).toBe(arrives ? 1 : 2);
    },
  );

  test("a submission for which no job exists may be made again with a new key", async () => {
    const { killDuring, server, service } = await createScene();
    const body = await createJobBodyForFile(service, FILE.succeeds);
    await killDuring(
      [{ tool: "submit_job", operationId: "createMicJob", args: body, arrives: false }],
      under,
      "get_capabilities",
    );
    const talk = await server();
    expect((await resolve(talk)).results[0]?.["finding"]).toMatch(
      /No job of this recipe was created between [-\d: ]+ and [-\d: ]+ UTC, among \d+ jobs\. If it is still wanted, make the same call again with idempotencyKey again-\w+\.$/,
    );
    expect((await list(talk)).summary).toBe("1 action: 1 unknown.");
  });

  test("a registration that cannot be resolved stays listed as such, and the instructions mention it", async () => {
    const { killDuring, server, connect, registration, sent, type } = await createScene();
    await killDuring([registration(FILE.succeeds)], under);
    const before = await sent("createMicPublicInput");
    const talk = await server();
    const { results, nextStep } = await resolve(talk);
    expect(results).toMatchObject([{ tool: "register_input", outcome: "not resolvable" }]);
    expect(nextStep).toBeUndefined();
    const listed = await list(talk);
    expect(listed.actions).toMatchObject([{ state: "unknown", resolvable: false }]);
    expect(listed.nextStep).toBeUndefined();
    expect((await type("resolve", "--dry-run")).stdout).toContain("too old to be sent again");
    expect((await connect()).instructions()).toContain(UNRESOLVED);
    expect(await sent("createMicPublicInput")).toBe(before);
    const key = listed.actions[0]?.idempotencyKey;
    await resolve(talk, { idempotencyKey: key, outcome: "none" });
    expect((await list(talk)).summary).toBe("1 action: 1 rejected.");
  });
});

describe("the server's instructions", () => {
  test("the server's instructions omit resolve_actions if it is not offered, and are built without creating a journal", async () => {
    const { killDuring, env, connect, registration } = await createScene();
    expect((await connect()).instructions()).not.toContain("resolve_actions.");
    expect(existsSync(join(env.MIC_STATE_DIR, "actions.sqlite"))).toBe(false);
    await killDuring([registration(FILE.succeeds)]);
    const readOnly = await inProcessClientForTest("v2-legacy", { ...env, MIC_READ_ONLY: "1" });
    expect(readOnly.instructions()).not.toContain(UNRESOLVED);
  });

  test("the server's instructions omit unresolved actions if the journal cannot be read", async () => {
    const { killDuring, env, connect, registration } = await createScene();
    await killDuring([registration(FILE.succeeds)]);
    for (const suffix of ["", "-wal", "-shm"])
      await writeFile(join(env.MIC_STATE_DIR, `actions.sqlite${suffix}`), "not a database, and longer than its header");
    const instructions = (await connect()).instructions();
    expect(instructions).toContain("Jobs: ");
    expect(instructions).not.toContain(UNRESOLVED);
  });
});

test("mic-mcp resolve sends nothing with --dry-run, and a cancellation again only with --yes", async () => {
  const { killDuring, registration, cancellation, pausedJob, executions, sent, type } = await createScene();
  const calls = [registration(FILE.succeeds), cancellation((await pausedJob()).id)];
  await killDuring(calls.map((call) => ({ ...call, arrives: false })));
  const count = (by: (operationId: string) => Promise<number>) =>
    Promise.all(calls.map((call) => by(call.operationId)));
  const [before, ran] = [await count(sent), await count(executions)];
  const dry = await type("resolve", "--dry-run");
  expect(dry).toMatchObject({ code: 0, stdout: expect.stringContaining("send again under its key") });
  const { actions } = JSON.parse((await type("resolve", "--dry-run", "--json")).stdout);
  for (const { tool } of calls) expect(actions).toContainEqual(expect.objectContaining({ tool }));
  expect(await type("resolve")).toMatchObject({ code: 2, stderr: expect.stringContaining("--yes") });
  expect(await type("resolve", "one", "two")).toMatchObject({ code: 2 });
  expect(await count(sent)).toEqual(before);
  const stdout = expect.stringContaining("2 actions: 2 resolved.");
  expect(await type("resolve", "--yes")).toMatchObject({ code: 0, stdout });
  expect(await count(executions)).toEqual(ran.map((each) => each + 1));
});

/** The list of jobs has no certain order and no certain clock: only its end shows that an action had no effect. */
describe("reading the list of jobs", () => {
  const PARENT = { ...job, id: "job-parent", state: "FAILED", createdAt: "2026-11-20T10:00:00Z" } as const;
  const RETRY = { jobId: PARENT.id, retryMode: "SAFE_RESUME", reason: "Again" };
  const PAGE = 100;

  let stub: Stub;
  let env: Readonly<Record<string, string>>;
  let stateDir: string;
  let server: InProcessServer;
  beforeEach(async () => {
    ({ stub, env, stateDir } = await benchForTest());
    server = await inProcessServerForTest(env);
  });

  /** The retry's answer is lost, and the API refuses its repetition. `listed`: the API's jobs, in the order of its list; `end`: its last page. */
  async function loseRetry(listed: readonly object[], args: object = RETRY, end: object = {}): Promise<string> {
    let posts = 0;
    stub.respond(({ method, target }) => {
      if (method === "POST")
        return ++posts === 1
          ? answer(503, undefined, { "retry-after": "60" })
          : answer(409, { ...problem, status: 409, retryable: false });
      const { pathname, searchParams } = new URL(target, "http://stub");
      if (!pathname.endsWith("/jobs")) return answer(200, enveloped(PARENT));
      const start = Number(searchParams.get("cursor") ?? 0);
      const next = start + PAGE < listed.length ? String(start + PAGE) : null;
      const page = { nextCursor: next, hasMore: next !== null, ...(next === null && end) };
      return answer(200, { ...enveloped(listed.slice(start, start + PAGE)), page });
    });
    const { error } = await server.call("retry_job", args);
    expect(error).toMatchObject({ kind: "outcome_unknown" });
    return String(error?.idempotencyKey);
  }

  const posts = () => stub.requests.filter(({ method }) => method === "POST");

  /** Jobs with these times, none of which is a retry. */
  const others = (count: number, createdAt: string) =>
    Array.from({ length: count }, (_, n) => ({ ...job, id: `job-${createdAt}-${n}`, createdAt }));
  const OLD = "2026-11-01T10:00:00Z";
  const NEW = "2026-11-22T10:00:00Z";

  test.for([
    ["the API's clock is hours behind this machine's", "2026-11-20T10:00:01Z", others(150, OLD)],
    ["older jobs precede it in the list", NEW, others(250, OLD)],
    ["newer and older jobs precede it in the list", NEW, [...others(120, NEW), ...others(120, OLD)]],
  ] as const)("a retry whose answer was lost is found even if %s", async ([_how, createdAt, before]) => {
    const retry = { ...job, id: "job-retry", retryOfBatchId: PARENT.id, createdAt };
    const idempotencyKey = await loseRetry([...before, retry, PARENT]);
    const { results } = await resolve(server, { idempotencyKey });
    const finding = "Resolved: Job job-parent was retried as job job-retry, by this call or by another client.";
    expect(results).toMatchObject([{ outcome: "resolved", createdId: "job-retry", finding }]);
    const again = await server.call("retry_job", RETRY);
    expect(again.text).toMatch(
      /^Not run again\. Job job-parent was retried as job job-retry, by this call or by another/,
    );
    expect(posts()).toHaveLength(2);
  });

  test("only the end of a long list shows that no retry exists", async () => {
    const listed = [...others(500, NEW), PARENT, ...others(1_700, OLD)];
    const idempotencyKey = await loseRetry(listed);
    clockForTest().advance(6 * 60_000);
    const { results } = await resolve(server, { idempotencyKey });
    const finding = "Resolved: it did not take effect. No retry of job job-parent was found among 2,201 jobs.";
    expect(results).toMatchObject([{ outcome: "rejected", finding }]);
  });

  test("a list that is longer than a call reads is left to the user's decision", async () => {
    const idempotencyKey = await loseRetry([PARENT, ...others(10_050, OLD)]);
    clockForTest().advance(6 * 60_000);
    const { results, nextStep } = await resolve(server, { idempotencyKey });
    const finding = expect.stringMatching(/among 10,000 jobs\. .*records the user's decision\.$/);
    expect(results).toMatchObject([{ outcome: "still unknown", finding }]);
    expect(nextStep).toBeUndefined();
    const decided = await resolve(server, { idempotencyKey, outcome: "none" });
    expect(decided.results).toMatchObject([{ outcome: "rejected" }]);
  });

  test("a list that lags shows a retry some minutes later; until then, its absence shows nothing", async () => {
    const retry = { ...job, id: "job-retry", retryOfBatchId: PARENT.id, createdAt: NEW };
    const listed: object[] = [PARENT];
    const idempotencyKey = await loseRetry(listed);
    const { results, nextStep } = await resolve(server, { idempotencyKey });
    const finding = expect.stringMatching(
      /No retry of job .* A list may not show a retry at once: call again in 5 min\.$/,
    );
    expect(results).toMatchObject([{ outcome: "still unknown", finding }]);
    expect(nextStep).toBeUndefined();
    listed.push(retry);
    clockForTest().advance(5 * 60_000);
    expect((await resolve(server, { idempotencyKey })).results).toMatchObject([{ createdId: "job-retry" }]);
  });

  test("the user's decision cannot name a job that another action provably created", async () => {
    const submission = answer(503, undefined, { "retry-after": "60" });
    const [first, second] = [
      { ...createJob, idempotencyKey: "first-job-1" },
      { ...createJob, idempotencyKey: "second-job-1" },
    ];
    const made = { ...job, retryOfBatchId: null };
    stub.expect(answer(202, enveloped(made)), submission);
    await server.call("submit_job", first);
    await server.call("submit_job", second);
    clockForTest().advance(21 * HOUR_MS);
    const page = { nextCursor: null, hasMore: false };
    stub.respond(({ target }) =>
      answer(200, /\/jobs\?/.test(target) ? { ...enveloped([made]), page } : enveloped(made)),
    );
    const decision = { idempotencyKey: second.idempotencyKey, jobId: made.id };
    const { error } = await server.call("resolve_actions", decision);
    expect(error).toMatchObject({
      kind: "invalid_arguments",
      fieldErrors: [{ pointer: "/jobId", code: "OTHER_ORIGIN" }],
    });
    expect((await list(server)).summary).toBe("2 actions: 1 unknown, 1 succeeded.");
  });

  test("an action is resolved by its key even if more than 1,000 older ones are unresolved", async () => {
    const idempotencyKey = await loseRetry([PARENT]);
    await server.end();
    const database = await openSqlite(stateDir);
    const created_at = "created_at - 1";
    await copyAction(database, idempotencyKey, 1_001, { key: "'older-' || n.i", created_at });
    await database.close();
    server = await inProcessServerForTest(env);
    const { results } = await resolve(server, { idempotencyKey });
    expect(results).toMatchObject([{ outcome: "still unknown", finding: expect.stringContaining("No retry of job") }]);
    expect(posts()).toHaveLength(2);
  });

  test("an action stays unknown if the API claims to have more jobs but returns no cursor for them", async () => {
    const idempotencyKey = await loseRetry([PARENT], RETRY, { hasMore: true });
    const { results, nextStep } = await resolve(server, { idempotencyKey });
    const finding = /among 1 job\. The list has more jobs, but the API returned no cursor for them\.$/;
    expect(results).toMatchObject([{ outcome: "still unknown", finding: expect.stringMatching(finding) }]);
    expect(nextStep?.arguments).toEqual({ idempotencyKey });
  });

  test("a retry that another action provably made is not attributed to this action", async () => {
    const retry = { ...job, id: "job-retry", retryOfBatchId: PARENT.id, createdAt: NEW };
    stub.expect(answer(202, enveloped(retry)));
    await server.call("retry_job", { ...RETRY, idempotencyKey: "first-key-1" });
    const idempotencyKey = await loseRetry([retry, PARENT], { ...RETRY, idempotencyKey: "second-key-1" });
    clockForTest().advance(6 * 60_000);
    const { results } = await resolve(server, { idempotencyKey });
    expect(results).toMatchObject([{ outcome: "rejected" }]);
  });
});
