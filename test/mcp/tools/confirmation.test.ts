// Tests confirmations before destructive calls: accepted, declined, closed, disabled, and clients that cannot ask.
import { expect, test } from "vitest";
import { createRetryableJob, FILE, readJob, runJobToEnd, submitJob } from "../../emulator/work.ts";
import { createLatch } from "../../support/latch.ts";
import type { Reply } from "../../support/mcp.ts";
import type { Args, Bench } from "../../tools/bench.ts";
import { describeEachRevisionInProcess, describeLatestRevision } from "../../tools/revisions.ts";

/** A user whose replies a test sets, and the questions that they were asked. */
let questions: string[] = [];
let reply: () => Reply | Promise<Reply>;
const onElicitation = async (question: string): Promise<Reply> => {
  questions.push(question);
  return await reply();
};

/** Runs `work` with a user who gives this answer. `questions` then has only the questions of `work`. */
async function withReply<T>(answer: typeof reply, work: () => Promise<T>): Promise<T> {
  questions = [];
  reply = answer;
  return await work();
}
const accept = (): Reply => ({ action: "accept", content: {} });
const decline = (): Reply => ({ action: "decline" });

const reason = 'Wrong "file"';
const cancel = (jobId: string, more: Args = {}): Args => ({ jobId, reason, waitSeconds: 0, ...more });
const restart = (jobId: string, more: Args = {}): Args => ({ jobId, retryMode: "RESTART", reason, ...more });

const cancelRequests = async (bench: Bench, jobId: string) =>
  (await bench.requests("cancelMicJob")).filter(({ path }) => path.includes(jobId));

describeEachRevisionInProcess(
  (bench) => {
    const submitted = async () => (await submitJob(bench().service, FILE.succeeds)).id;
    const failed = async () => (await createRetryableJob(bench().service)).id;
    const ok = (answer: typeof reply, tool: string, args: Args) => withReply(answer, () => bench().ok(tool, args));
    /** The operations of the requests, without reads of the recipe's name. */
    const operationsOf = async (answer: typeof reply, args: Args) => {
      const { sent } = await withReply(answer, () => bench().capture(() => bench().ok("cancel_job", args)));
      return sent.flatMap(({ operationId }) => (operationId === "getMicExecutableRecipe" ? [] : operationId));
    };

    test("cancel_job continues when the user agrees to a question with the job's state, stage and recipe", async () => {
      const id = await submitted();
      bench().clock.advance(1_300);
      const { stages, recipeVersionId } = await readJob(bench().service, id);
      const stage = stages.find(({ state }) => state === "RUNNING")?.stage;
      // The version needs the read of the job anyway.
      expect(await operationsOf(accept, cancel(id))).toEqual(["getMicJob", "cancelMicJob"]);
      const { structured } = await bench().ok("get_recipe", { versionId: recipeVersionId });
      const name = JSON.stringify(Object(structured["data"]).recipe.name);
      expect(questions).toEqual([expect.stringContaining(id)]);
      for (const fact of [`RUNNING, at stage ${stage} (`, `; recipe ${name}; created 1 s ago.`, JSON.stringify(reason)])
        expect(questions[0]).toContain(fact);
      expect(await cancelRequests(bench(), id)).toHaveLength(1);

      const noted = { ...(await bench().argumentsFor("createMicJob")), clientReference: "nightly run" };
      const ownId = Object((await bench().ok("submit_job", noted)).structured["data"]).id;
      await ok(decline, "cancel_job", cancel(ownId));
      expect(questions[0]).toContain('client reference "nightly run"');
    });

    test("the question about a RESTART contains the failure and an earlier retry", async () => {
      const id = await failed();
      const restarted = await ok(accept, "retry_job", restart(id));
      const question = /discarded.*It is FAILED, at stage CHURN .* Its failure: STAGE_UNAVAILABLE "/s;
      expect(questions).toEqual([expect.stringMatching(question)]);
      const retry = Object(restarted.structured["data"]);
      expect(retry.retryOfBatchId).toBe(id);
      // The user may not be aware of the retry.
      await ok(decline, "retry_job", restart(id, { idempotencyKey: `${id}-2` }));
      expect(questions[0]).toContain(`It was retried before, as job ${retry.id}.`);
    });

    test("with an explicit key, the job is read again after the user has agreed", async () => {
      const id = await submitted();
      const answer = (): Reply => {
        bench().clock.advance(1_300);
        return accept();
      };
      const sent = await operationsOf(answer, cancel(id, { idempotencyKey: `own-${id}` }));
      expect(sent).toEqual(["getMicJob", "getMicJob", "cancelMicJob"]);
    });

    test("the user is not asked about SAFE_RESUME, wrong arguments, or an action that cannot succeed", async () => {
      const { id, resourceVersion } = await runJobToEnd(bench().service, FILE.succeeds);
      const resume = restart(await failed(), { retryMode: "SAFE_RESUME" });
      await withReply(accept, async () => {
        await bench().ok("retry_job", resume);
        await bench().refuses("retry_job", { jobId: "j", reason: "", retryMode: "RESTART" }, "/reason");
        for (const more of [{}, { resourceVersion }]) {
          const ended = await bench().fails("cancel_job", cancel(id, more), "conflict");
          expect(ended).toMatchObject({ sideEffect: "none", retryable: false });
          expect(ended.next).toMatch(/the job has ended/);
        }
        await bench().fails("cancel_job", cancel("micjob_none"), "not_found");
        await bench().fails("retry_job", restart("micjob_none"), "not_found");
      });
      expect(questions).toEqual([]);
      expect(await cancelRequests(bench(), id)).toEqual([]);
    });

    test("the user is asked even if the job cannot be read", async () => {
      const id = await failed();
      const forbidden = { kind: "status", status: 403, code: "INSUFFICIENT_SCOPE", retryable: false };
      await bench().service.injectFault(forbidden, { operationId: "getMicJob" });
      await ok(accept, "retry_job", restart(id));
      expect(questions).toEqual([expect.stringMatching(/discarded\. The reason given:/)]);
    });

    test.each<readonly [string, Reply]>([
      ["declines", { action: "decline" }],
      ["closes the dialog", { action: "cancel" }],
      ["clears the checkbox", { action: "accept", content: { confirm: false } }],
    ])("nothing is sent or recorded when the user %s", async (_what, answer) => {
      const id = await submitted();
      const listActions = async () => Object((await bench().call("list_actions", { limit: 100 })).structured).actions;
      const before = await listActions();
      // The user is asked each time, because a refusal is not stored.
      for (const _ of [1, 2]) {
        const { structured } = await ok(() => answer, "cancel_job", cancel(id));
        expect(questions).toHaveLength(1);
        expect(structured).toMatchObject({ declined: true, summary: expect.stringMatching(/nothing was sent/) });
      }
      expect(await listActions()).toEqual(before);
      expect(await cancelRequests(bench(), id)).toEqual([]);
    });

    test("an action whose outcome was lost is resumed without a question", async () => {
      const id = await failed();
      const rateLimited = { kind: "status", status: 429, retryAfterSeconds: 3600 };
      for (const fault of [{ kind: "drop-after" }, rateLimited])
        await bench().service.injectFault(fault, { operationId: "retryMicJob" });
      const lost = await withReply(accept, () => bench().fails("retry_job", restart(id), "outcome_unknown"));
      expect(questions).toHaveLength(1);
      const again = await ok(decline, "retry_job", restart(id));
      expect(questions).toEqual([]);
      const { idempotencyKey = "" } = lost;
      expect(again.structured["action"]).toMatchObject({ idempotencyKey, replayed: false });
      expect(await bench().service.countExecutions(idempotencyKey)).toBe(1);
    });

    test("two concurrent calls run at most once per key, whichever the user confirms first", async () => {
      const id = await failed();
      const { released: bothQuestioned, release: resolveBoth } = createLatch();
      const answer = async (): Promise<Reply> => {
        if (questions.length === 2) resolveBoth();
        await bothQuestioned;
        return accept();
      };
      const call = () => bench().call("retry_job", restart(id));
      const results = await withReply(answer, () => Promise.all([call(), call()]));
      // The second call joins the first, or comes after the first has returned its outcome; then the API decides.
      expect(results.some(({ structured }) => Object(structured?.["data"]).id !== undefined)).toBe(true);
      for (const { idempotencyKey = "", path } of await bench().requests("retryMicJob"))
        if (path.includes(id)) expect(await bench().service.countExecutions(idempotencyKey)).toBeLessThanOrEqual(1);
    });
  },
  { onElicitation },
);

describeLatestRevision(
  (bench) => {
    test("MIC_CONFIRM=never: cancel_job does not ask the user", async () => {
      const { id } = await submitJob(bench().service, FILE.succeeds);
      await withReply(accept, () => bench().ok("cancel_job", cancel(id)));
      expect(questions).toEqual([]);
    });
  },
  { onElicitation, env: { MIC_CONFIRM: "never" } },
);
