// Retries a job. If the API refuses because the job was retried before, the error names that retry if it is known.
import type { ActionTraits } from "../../actions/fingerprint.ts";
import { retryMicJob } from "../../contract/endpoints/job-processing.ts";
import type { Job } from "../../contract/jobs.ts";
import { Failure } from "../../failure.ts";
import { quote, word } from "../../outside.ts";
import { jobSubject } from "../advice/job.ts";
import { type HistoryPorts, knownRetry } from "../advice/job-history.ts";
import type { Ports } from "../ports.ts";
import { type ActionResult, callText } from "../results.ts";
import { type ActionArguments, runAction } from "../run-action.ts";
import type { ToolCall } from "../tool-call.ts";
import { readJob } from "./read-job.ts";

export const retryTraits: ActionTraits = { about: "jobId", identifiedBy: ["jobId"] };

interface RetryArguments extends ActionArguments {
  readonly jobId: string;
}

/** `conflict` refused the retry; its message also names another retry of the job that is known. */
async function explain(conflict: Failure, jobId: string, ports: HistoryPorts): Promise<Failure> {
  const id = (await knownRetry(jobId, ports))?.id;
  if (id === undefined) return conflict;
  return conflict.with({
    message: `${conflict.facts.message} Job ${word(jobId)} was retried as job ${word(id)}.`,
    next: `${callText({ tool: "get_job", arguments: { jobId: id } })} shows how the retry stands.`,
  });
}

export async function retryOnce(
  args: RetryArguments,
  call: ToolCall,
  ports: HistoryPorts & Pick<Ports, "service">,
): Promise<ActionResult<Job>> {
  try {
    return await runAction(args, call, ports, {
      endpoint: retryMicJob,
      traits: retryTraits,
      subject: jobSubject(ports),
      readNow: (jobId) => readJob(jobId, call, ports),
      findOut: "Look with list_jobs for a job whose retryOfBatchId (view full) is this job.",
      // Section 3: a retried job carries the earlier job's id.
      mismatch: ({ id, retryOfBatchId: earlier }) =>
        earlier === args.jobId
          ? undefined
          : `/data/retryOfBatchId: ${earlier === null ? "null" : quote(earlier)} in job ${quote(id)}, which is no retry of ${quote(args.jobId)}`,
    });
  } catch (error) {
    const isConflict = error instanceof Failure && error.facts.kind === "conflict" && error.facts.status === 409;
    throw isConflict ? await explain(error, args.jobId, ports) : error;
  }
}
