// This module defines list_jobs, which lists the jobs of a workspace, optionally only those that match a filter.
import * as z from "zod/v4";
import { listMicJobs } from "../src/contract/endpoints/job-processing.ts";
import { DEFAULT_JOB_PAGE } from "../src/contract/envelope.ts";
import type { Job } from "../src/contract/jobs.ts";
import { ENDED } from "../src/toolkit/advice/job-facts.ts";
import { cursorText, view } from "../src/toolkit/arguments.ts";
import type { CompletionValue } from "../src/toolkit/completion-value.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { jobFilter } from "../src/toolkit/jobs/find-jobs.ts";
import { listJobs as run, tabulateJobs as tabulate } from "../src/toolkit/jobs/job-lists.ts";
import { outputs } from "../src/toolkit/outputs.ts";

const toCompletionValue = ({ id, state, failure }: Job): CompletionValue => ({
  value: id,
  name: `${state} ${failure?.code ?? ""}`,
  isUnresolved: !ENDED.has(state),
});

const query = listMicJobs.query.shape;

export const listJobs = defineTool({
  endpoint: listMicJobs,
  name: "list_jobs",
  title: "List jobs: which failed, run or finished",
  description: "List the workspace's jobs: id, state, stage, failure. A filter reads up to 1,000 jobs per call.",
  searchHint: "failed, running, finished, today",
  effect: "read",
  input: z.strictObject({
    ...query,
    limit: query.limit.describe(`Rows (default ${DEFAULT_JOB_PAGE}).`),
    cursor: query.cursor.describe(cursorText),
    ...jobFilter,
    view,
  }),
  output: outputs.page<Job>({ counts: outputs.object, read: outputs.object }),
  completions: {
    kind: "jobId",
    ttlMs: 10_000,
    arguments: (workspaceId) => (workspaceId === undefined ? undefined : { workspaceId, limit: 100 }),
    toValues: (jobs) =>
      jobs.toSorted((one, other) => Date.parse(other.createdAt) - Date.parse(one.createdAt)).map(toCompletionValue),
  },
  run,
  tabulate,
});
