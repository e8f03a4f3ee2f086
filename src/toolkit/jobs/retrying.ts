// This module retries one job.

import { identifies, type TraitsOf } from "../../actions/fingerprint.ts";
import { retryMicJob } from "../../contract/endpoints/job-processing.ts";
import type { Job } from "../../contract/jobs.ts";
import { Failure } from "../../core/failure.ts";
import { call, say } from "../../core/text.ts";
import { jobStatus, retryRefusalText } from "../describe/job.ts";
import type { ActionResult, ToolResult } from "../results.ts";
import { type ActionArguments, runAction } from "../run-action.ts";
import type { ToolContext } from "../tool-context.ts";
import { limitCall, readJob } from "./batch.ts";
import { describeJobWith, findKnownRetry } from "./job-history.ts";
import { waitForMadeJob } from "./waiting.ts";

export const retryTraits: TraitsOf<typeof retryMicJob> = {
  targetArgument: "jobId",
  arguments: { jobId: identifies(), retryMode: "note: a job is retried once, in any mode", reason: "note" },
};

interface RetryArguments extends ActionArguments {
  readonly jobId: string;
}

/** Replaces the advice of a refusal by that for the job's state, if the job can be read. */
async function withStateAdvice(error: Failure, jobId: string, ctx: ToolContext): Promise<Failure> {
  const answer = await readJob(jobId, ctx).catch(() => undefined);
  const next = answer && retryRefusalText(answer.value.data);
  return next === undefined ? error : error.with({ next });
}

/** Retries one job. Throws Failure; if the API rejects the request because of an earlier retry, the error names that retry, if known. */
export async function retryJob(args: RetryArguments, ctx: ToolContext): Promise<ActionResult<Job>> {
  const { jobId } = args;
  try {
    return await runAction(args, ctx, {
      endpoint: retryMicJob,
      traits: retryTraits,
      describe: describeJobWith(ctx),
      status: jobStatus,
      readNow: (id) => readJob(id, ctx),
      findOut: say`Look with list_jobs for a job whose retryOfBatchId (view full) is this job.`,
    });
  } catch (error) {
    if (!(error instanceof Failure) || error.facts.kind !== "conflict" || error.facts.status !== 409) throw error;
    const retry = (await findKnownRetry(jobId, ctx))?.id;
    if (retry === undefined) throw await withStateAdvice(error, jobId, ctx);
    throw error.with({
      message: say`${error.facts.message} Job ${jobId} was retried as job ${retry}.`,
      next: say`${call("get_job", { jobId: retry })} shows the state of the retry.`,
    });
  }
}

/** Retries one job and waits for the new one. Throws Failure if the retry fails. */
export async function retryAndWait(
  { waitSeconds = 0, ...args }: RetryArguments & { readonly waitSeconds?: number },
  ctx: ToolContext,
): Promise<ToolResult<Job>> {
  const { secondsLeft } = limitCall(waitSeconds, ctx);
  const made = await retryJob(args, ctx);
  const seconds = secondsLeft();
  if (seconds === 0 || ctx.followsTasks === true) return made;
  return await waitForMadeJob(made, seconds, describeJobWith(ctx), ctx);
}
