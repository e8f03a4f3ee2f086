// What a person is asked before a job's work is thrown away: the job is looked at first, so that they see what it is about.
import { getMicJob } from "../../contract/endpoints/job-processing.ts";
import type { Job } from "../../contract/jobs.ts";
import { Failure } from "../../failure.ts";
import { quote, word } from "../../outside.ts";
import { describeJob } from "../advice/job.ts";
import { knownRetry } from "../advice/job-history.ts";
import type { PreparedQuestion } from "../define-tool.ts";
import type { JobPorts, Ports } from "../ports.ts";
import type { ToolCall } from "../tool-call.ts";

// An application that may act on jobs need not be allowed to read them.
const isHidden = (error: unknown): boolean =>
  error instanceof Failure && (error.facts.kind === "forbidden" || error.facts.kind === "unauthorized");

async function readJob(
  jobId: string,
  { context }: ToolCall,
  { service }: Pick<Ports, "service">,
): Promise<Job | undefined> {
  try {
    return (await service.call(getMicJob, { path: { jobId } }, context)).value.data;
  } catch (error) {
    if (isHidden(error)) return undefined;
    throw error;
  }
}

interface JobQuestion {
  readonly jobId: string;
  readonly reason: string;
  /** "Cancel job x? …" */
  readonly asks: string;
  /** Throws Failure where it is certain that it cannot be done. */
  readonly check?: (job: Job) => void;
}

/** Looks at the job and makes the question. Throws Failure: there is no such job, or it cannot be done. */
export const askAboutJob =
  ({ jobId, reason, asks, check }: JobQuestion) =>
  async (call: ToolCall, ports: JobPorts): Promise<PreparedQuestion> => {
    const job = await readJob(jobId, call, ports);
    if (job) check?.(job);
    const retry = (await knownRetry(jobId, ports))?.id;
    const sentences = [
      asks,
      job && describeJob(job, ports.offers.get(job.recipeVersionId)?.recipe.name),
      retry !== undefined && `It was retried before, as job ${word(retry)}.`,
      `The reason given: ${quote(reason)}`,
    ];
    return { text: sentences.filter(Boolean).join(" "), resourceVersion: job?.resourceVersion };
  };
