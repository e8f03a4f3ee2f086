// What now, over the wire: advice that follows from attempts, from a retry's history, and from the journal.
import { expect, test } from "vitest";
import { FILE, readJob, retryableJob, settledJob, submitJob } from "../emulator/work.ts";
import { connectionForTest, emulatorEnv } from "../support/mcp.ts";
import type { Bench } from "../tools/bench.ts";
import { forEachEra } from "../tools/eras.ts";

const LATER = { kind: "status", status: 429, retryAfterSeconds: 3600 } as const;

async function nextStep(bench: Bench, jobId: string) {
  const { structured, text } = await bench.ok("get_job", { jobId });
  const { nextStep: step } = structured;
  if (step !== undefined)
    expect(text).toContain(`Next: ${Object(step).tool} ${JSON.stringify(Object(step).arguments)}`);
  return { summary: String(structured["summary"]), step: Object(step) };
}

/** From now on the service says that the job failed so. */
async function saysFailed(bench: Bench, jobId: string, attemptCount: number): Promise<void> {
  const job = await readJob(bench.service, jobId);
  const stages = job.stages.map((stage) => (stage.state === "FAILED" ? { ...stage, attemptCount } : stage));
  const body = JSON.stringify({ data: { ...job, stages }, meta: { requestId: "r-1" } });
  await bench.service.fault({ kind: "body", body }, { operationId: "getMicJob" });
}

forEachEra((bench, era) => {
  test("an action of unknown outcome comes first, and repeating it under its key settles it", async () => {
    const { id } = await retryableJob(bench().service);
    const args = { jobId: id, retryMode: "SAFE_RESUME", reason: "again" };
    await bench().service.fault({ kind: "drop-after" }, { operationId: "retryMicJob" });
    await bench().service.fault(LATER, { operationId: "retryMicJob" });
    const { idempotencyKey } = await bench().fails("retry_job", args, "outcome_unknown");
    const { summary, step } = await nextStep(bench(), id);
    expect(summary).toMatch(/FAILED.*retry_job call.*unknown outcome/);
    expect(step).toMatchObject({ tool: "retry_job", arguments: { ...args, idempotencyKey } });
    const again = await bench().ok(step.tool, step.arguments);
    expect(again.structured["action"]).toMatchObject({ idempotencyKey, replayed: true });
    // Settled, it is no matter any more.
    expect((await nextStep(bench(), id)).step.arguments).toEqual({
      jobId: id,
      retryMode: "SAFE_RESUME",
      reason: expect.any(String),
    });
  });

  test("resume first, then restart, then give up", async () => {
    const { id } = await retryableJob(bench().service);
    const first = await nextStep(bench(), id);
    expect(first.step).toMatchObject({ tool: "retry_job", arguments: { jobId: id, retryMode: "SAFE_RESUME" } });

    // The emulator's retry succeeds; a service whose retry fails at the same stage again would say this.
    const { structured } = await bench().ok(first.step.tool, first.step.arguments);
    const resumedId = Object(structured["data"]).id;
    const failedJob = await readJob(bench().service, id);
    const failing = (jobId: string, attemptCount: number) => {
      const stages = failedJob.stages.map((stage) => (stage.state === "FAILED" ? { ...stage, attemptCount } : stage));
      const data = { ...failedJob, id: jobId, retryOfBatchId: id, stages };
      return { kind: "body", body: JSON.stringify({ data, meta: { requestId: "r-1" } }) };
    };
    await bench().service.fault(failing(resumedId, 2), { operationId: "getMicJob" });
    const second = await nextStep(bench(), resumedId);
    expect(second.step).toMatchObject({ tool: "retry_job", arguments: { jobId: resumedId, retryMode: "RESTART" } });
    expect(second.step.why).toMatch(/failed at CHURN again/);

    // A job that a RESTART of this server's made, and that failed all the same.
    const other = await retryableJob(bench().service);
    const anew = await bench().ok("retry_job", { jobId: other.id, retryMode: "RESTART", reason: "anew" });
    const anewId = Object(anew.structured["data"]).id;
    await bench().service.fault(failing(anewId, 1), { operationId: "getMicJob" });
    const third = await nextStep(bench(), anewId);
    expect(third.summary).toMatch(/after a RESTART too: give up/);
    expect(third.step).toEqual({});
  });

  test("a stage that failed again and again is given up", async () => {
    const { id } = await retryableJob(bench().service);
    await saysFailed(bench(), id, 3);
    const { summary, step } = await nextStep(bench(), id);
    expect(summary).toMatch(/CHURN has failed 3 times: give up/);
    expect(step).toEqual({});
  });

  test("what is wrong with the input is named, with where to look", async () => {
    const { id } = await settledJob(bench().service, FILE.failsForGood);
    const { summary, step } = await nextStep(bench(), id);
    const { failure, recipeVersionId } = await readJob(bench().service, id);
    expect(summary).toContain(failure?.fieldErrors[0]?.pointer);
    expect(step).toMatchObject({ tool: "get_recipe", arguments: { versionId: recipeVersionId } });
  });

  test("a step that this server does not offer is no step", async () => {
    const { id } = await retryableJob(bench().service);
    const env = { ...emulatorEnv(bench().service.emulator), MIC_READ_ONLY: "1" };
    const readOnly = await connectionForTest(era, { env });
    const { structured = {}, text } = await readOnly.callTool("get_job", { jobId: id });
    expect(structured["summary"]).toMatch(/may be retried/);
    expect(structured).not.toHaveProperty("nextStep");
    expect(text).not.toContain("Next:");
  });

  test("a journal that cannot be read makes no reading fail", async () => {
    const { id } = await submitJob(bench().service, FILE.succeeds);
    const env = { ...emulatorEnv(bench().service.emulator), MIC_STATE_DIR: "/dev/null/nowhere" };
    const connection = await connectionForTest(era, { env });
    const { isError, text } = await connection.callTool("get_job", { jobId: id });
    expect(isError, text).toBe(false);
  });
});
