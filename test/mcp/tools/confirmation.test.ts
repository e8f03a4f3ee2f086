// Tests confirmations before destructive calls: accepted, declined, closed, disabled, and clients that cannot ask.
import { describe, expect, test } from "vitest";
import { createRetryableJob, FILE, readJob, runJobToEnd, submitJob } from "../../emulator/work.ts";
import { createLatch } from "../../support/latch.ts";
import { connectionForTest, emulatorEnv, type Reply, type TestClient } from "../../support/mcp.ts";
import type { Bench } from "../../tools/bench.ts";
import { describeEachRevisionInProcess } from "../../tools/revisions.ts";

/** A user whose replies a test sets, and the questions that they were asked. */
const questions: string[] = [];
let reply: () => Reply | Promise<Reply> = () => ({ action: "accept", content: {} });
const onElicitation = async (question: string): Promise<Reply> => {
  questions.push(question);
  return await reply();
};

async function withReply<T>(answer: typeof reply, work: () => Promise<T>): Promise<{ result: T; questions: string[] }> {
  questions.length = 0;
  reply = answer;
  const result = await work();
  return { result, questions: [...questions] };
}

const accept = (): Reply => ({ action: "accept", content: {} });
const reason = 'Wrong "file"';

const actionsOf = async (connection: TestClient): Promise<readonly unknown[]> =>
  Object((await connection.callTool("list_actions", { limit: 100 })).structured)["actions"];

const cancelRequests = async (bench: Bench, jobId: string) =>
  (await bench.requests("cancelMicJob")).filter(({ path }) => path.includes(jobId));

describe("a client that can ask the user", () => {
  describeEachRevisionInProcess(
    (bench) => {
      test("cancel_job continues when the user agrees", async () => {
        const { id } = await submitJob(bench().service, FILE.succeeds);
        const { result, questions } = await withReply(accept, () =>
          bench().ok("cancel_job", { jobId: id, reason, waitSeconds: 0 }),
        );
        expect(questions).toEqual([expect.stringContaining(id)]);
        expect(questions[0]).toContain(JSON.stringify(reason));
        const [sent] = await cancelRequests(bench(), id);
        expect(result.structured["action"]).toMatchObject({ idempotencyKey: sent?.idempotencyKey, attempts: 1 });
        expect(await cancelRequests(bench(), id)).toHaveLength(1);
      });

      test("the job is read before the user is asked; the question contains its state, stage and recipe", async () => {
        const { id } = await submitJob(bench().service, FILE.succeeds);
        bench().clock.advance(1_300);
        const { stages, recipeVersionId } = await readJob(bench().service, id);
        const stage = stages.find(({ state }) => state === "RUNNING")?.stage;
        const { result, questions } = await withReply(accept, () =>
          bench().captureRequests(() => bench().ok("cancel_job", { jobId: id, reason, waitSeconds: 0 })),
        );
        expect(questions[0]).toContain(`It is RUNNING, at stage ${stage} (`);
        const { structured } = await bench().ok("get_recipe", { versionId: recipeVersionId });
        const { name } = Object(structured["data"]).recipe;
        expect(questions[0]).toContain(`; recipe ${JSON.stringify(name)}; created 1 s ago.`);
        // The version needs the read of the job anyway.
        const sent = result.map(({ operationId }) => operationId).filter((id) => id !== "getMicExecutableRecipe");
        expect(sent).toEqual(["getMicJob", "cancelMicJob"]);

        const noted = { ...(await bench().argumentsFor("createMicJob")), clientReference: "nightly run" };
        const submitted = Object((await bench().ok("submit_job", noted)).structured["data"]).id;
        const canceled = await withReply(
          () => ({ action: "decline" }),
          () => bench().ok("cancel_job", { jobId: submitted, reason }),
        );
        expect(canceled.questions[0]).toContain('client reference "nightly run"');

        const failed = await createRetryableJob(bench().service);
        const restart = { jobId: failed.id, retryMode: "RESTART", reason };
        const restarted = await withReply(accept, () => bench().ok("retry_job", restart));
        expect(restarted.questions[0]).toMatch(/It is FAILED, at stage CHURN .* Its failure: STAGE_UNAVAILABLE "/);
        expect(restarted.questions[0]).toContain(`recipe ${JSON.stringify(name)}`);

        // The question mentions an earlier retry, because the user may not be aware of it.
        const again = await withReply(
          () => ({ action: "decline" }),
          () => bench().ok("retry_job", { ...restart, idempotencyKey: `${failed.id}-2` }),
        );
        const retryId = Object(restarted.result.structured["data"]).id;
        expect(again.questions[0]).toContain(`It was retried before, as job ${retryId}.`);
      });

      test("with an explicit key, the job is read again after the user has agreed", async () => {
        const { id } = await submitJob(bench().service, FILE.succeeds);
        const answer = (): Reply => {
          bench().clock.advance(1_300);
          return accept();
        };
        const args = { jobId: id, reason, idempotencyKey: `own-${id}`, waitSeconds: 0 };
        const { result } = await withReply(answer, () => bench().captureRequests(() => bench().ok("cancel_job", args)));
        const sent = result.map(({ operationId }) => operationId).filter((id) => id !== "getMicExecutableRecipe");
        expect(sent).toEqual(["getMicJob", "getMicJob", "cancelMicJob"]);
      });

      test("the user is not asked about an action that cannot succeed", async () => {
        const finishedJob = await runJobToEnd(bench().service, FILE.succeeds);
        const { resourceVersion } = finishedJob;
        for (const args of [{}, { resourceVersion }]) {
          const { result, questions } = await withReply(accept, () =>
            bench().fails("cancel_job", { jobId: finishedJob.id, reason, ...args }, "conflict"),
          );
          expect(questions).toEqual([]);
          expect(result).toMatchObject({ sideEffect: "none", retryable: false });
          expect(result.next).toMatch(/nothing left to cancel/);
        }
        const missing = { jobId: "micjob_none", reason };
        for (const [tool, args] of [
          ["cancel_job", missing],
          ["retry_job", { ...missing, retryMode: "RESTART" }],
        ] as const) {
          const { result, questions } = await withReply(accept, () => bench().fails(tool, args, "not_found"));
          expect(questions, tool).toEqual([]);
          expect(result.next).toMatch(/list_jobs/);
        }
        expect(await cancelRequests(bench(), finishedJob.id)).toEqual([]);
      });

      test("the user is asked even if the job cannot be read", async () => {
        const { id } = await createRetryableJob(bench().service);
        const insufficientScope = { kind: "status", status: 403, code: "INSUFFICIENT_SCOPE", retryable: false };
        await bench().service.injectFault(insufficientScope, { operationId: "getMicJob" });
        const restart = { jobId: id, retryMode: "RESTART", reason };
        const { questions } = await withReply(accept, () => bench().ok("retry_job", restart));
        expect(questions).toEqual([expect.stringMatching(/discarded\. The reason given:/)]);
      });

      test.each<readonly [string, Reply]>([
        ["declines", { action: "decline" }],
        ["closes the dialog", { action: "cancel" }],
        ["clears the checkbox", { action: "accept", content: { confirm: false } }],
      ])("nothing is sent or recorded when the user %s", async (_what, answer) => {
        const { id } = await submitJob(bench().service, FILE.succeeds);
        const before = await actionsOf(bench().connection);
        const version = (await readJob(bench().service, id)).resourceVersion;
        for (const retry of [false, true]) {
          const { result, questions } = await withReply(
            () => answer,
            () => bench().ok("cancel_job", { jobId: id, reason }),
          );
          // The user is asked each time, because a refusal is not stored.
          expect(questions, String(retry)).toHaveLength(1);
          expect(result.structured).toMatchObject({
            declined: true,
            summary: expect.stringMatching(/nothing was sent/),
          });
        }
        expect(await actionsOf(bench().connection)).toEqual(before);
        expect(await cancelRequests(bench(), id)).toEqual([]);
        expect((await readJob(bench().service, id)).resourceVersion).toBe(version);
      });

      test("RESTART asks the user, SAFE_RESUME does not", async () => {
        const [one, two] = [await createRetryableJob(bench().service), await createRetryableJob(bench().service)];
        const resume = { jobId: one.id, retryMode: "SAFE_RESUME", reason };
        expect((await withReply(accept, () => bench().ok("retry_job", resume))).questions).toEqual([]);
        const restart = { jobId: two.id, retryMode: "RESTART", reason };
        const { result, questions } = await withReply(accept, () => bench().ok("retry_job", restart));
        expect(questions).toEqual([expect.stringMatching(/discarded/)]);
        expect(result.structured["data"]).toMatchObject({ retryOfBatchId: two.id });
      });

      test("arguments are checked before the user is asked", async () => {
        const wrong = { jobId: "j", reason: "", retryMode: "RESTART" };
        const { questions } = await withReply(accept, () => bench().refuses("retry_job", wrong, "/reason"));
        expect(questions).toEqual([]);
      });

      test("an action whose outcome was lost is resumed without a question", async () => {
        const { id } = await createRetryableJob(bench().service);
        const args = { jobId: id, retryMode: "RESTART", reason };
        await bench().service.injectFault({ kind: "drop-after" }, { operationId: "retryMicJob" });
        const rateLimited = { kind: "status", status: 429, retryAfterSeconds: 3600 };
        await bench().service.injectFault(rateLimited, { operationId: "retryMicJob" });
        const lost = await withReply(accept, () => bench().fails("retry_job", args, "outcome_unknown"));
        expect(lost.questions).toHaveLength(1);
        const again = await withReply(
          () => ({ action: "decline" }),
          () => bench().ok("retry_job", args),
        );
        expect(again.questions).toEqual([]);
        const idempotencyKey = lost.result.idempotencyKey ?? "";
        expect(again.result.structured["action"]).toMatchObject({ idempotencyKey, replayed: true });
        expect(await bench().service.countExecutions(idempotencyKey)).toBe(1);
      });

      test("two concurrent calls run at most once for each key, in any order of the confirmations", async () => {
        const { id } = await createRetryableJob(bench().service);
        const args = { jobId: id, retryMode: "RESTART", reason };
        const { released: bothQuestioned, release: resolveBoth } = createLatch();
        const answer = async (): Promise<Reply> => {
          if (questions.length === 2) resolveBoth();
          await bothQuestioned;
          return accept();
        };
        const { result } = await withReply(answer, () =>
          Promise.all([bench().call("retry_job", args), bench().call("retry_job", args)]),
        );
        const retriedIds = result.map(({ structured }) => Object(structured?.["data"]).id);
        const keys = (await bench().requests("retryMicJob")).filter(({ path }) => path.includes(id));
        // The second call joins the first, or comes after the first has returned its outcome; then the API decides.
        expect(retriedIds.filter((each) => each !== undefined).length).toBeGreaterThanOrEqual(1);
        for (const { idempotencyKey = "" } of keys)
          expect(await bench().service.countExecutions(idempotencyKey)).toBeLessThanOrEqual(1);
      });
    },
    { onElicitation },
  );
});

describe("MIC_CONFIRM=never", () => {
  describeEachRevisionInProcess(
    (bench) => {
      test("MIC_CONFIRM=never: cancel_job does not ask the user", async () => {
        const { id } = await submitJob(bench().service, FILE.succeeds);
        const { questions } = await withReply(accept, () =>
          bench().ok("cancel_job", { jobId: id, reason, waitSeconds: 0 }),
        );
        expect(questions).toEqual([]);
      });
    },
    { onElicitation, env: { MIC_CONFIRM: "never" } },
  );
});

describe("a client that cannot ask the user", () => {
  describeEachRevisionInProcess((bench, revision) => {
    test("cancel_job and RESTART run without a question", async () => {
      const { id } = await submitJob(bench().service, FILE.succeeds);
      await bench().ok("cancel_job", { jobId: id, reason, waitSeconds: 0 });
      const job = await createRetryableJob(bench().service);
      await bench().ok("retry_job", { jobId: job.id, retryMode: "RESTART", reason });
    });

    test("MIC_CONFIRM=auto asks the user and logs nothing", async () => {
      const env = { ...emulatorEnv(bench().service.emulator), MIC_CONFIRM: "auto" };
      const connection = await connectionForTest(revision, { env, onElicitation });
      const { id } = await submitJob(bench().service, FILE.succeeds);
      const { questions } = await withReply(accept, () =>
        connection.callTool("cancel_job", { jobId: id, reason, waitSeconds: 0 }),
      );
      expect(questions).toHaveLength(1);
      expect(connection.stderr()).toBe("");
    });
  });
});
