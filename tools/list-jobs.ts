// This module defines list_jobs, which lists or saves the jobs of a workspace, optionally only those that match a filter.
import * as z from "zod/v4";
import { listMicJobs } from "../src/contract/endpoints/job-processing.ts";
import type { Job } from "../src/contract/jobs.ts";
import { ENDED } from "../src/toolkit/advice/job-facts.ts";
import { saveAs, view } from "../src/toolkit/arguments.ts";
import type { CompletionValue } from "../src/toolkit/completion-value.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { jobFilter } from "../src/toolkit/jobs/find-jobs.ts";
import { listJobs as list, saveJobs } from "../src/toolkit/jobs/job-lists.ts";
import { outputs } from "../src/toolkit/outputs.ts";

const toCompletionValue = ({ id, state, failure }: Job): CompletionValue => ({
  value: id,
  name: `${state} ${failure?.code ?? ""}`,
  isUnresolved: !ENDED.has(state),
});

export const listJobs = defineTool({
  endpoint: listMicJobs,
  name: "list_jobs",
  title: "List jobs",
  description: "The workspace's jobs: id, state, stage, failure. A filter looks through up to 1000.",
  effect: "export",
  input: z.strictObject({ ...listMicJobs.query.shape, ...jobFilter, view, saveAs }),
  output: outputs.page<Job>({ counts: outputs.object, read: outputs.object }),
  completions: {
    kind: "jobId",
    ttlMs: 10_000,
    arguments: (workspaceId) => (workspaceId === undefined ? undefined : { workspaceId, limit: 100 }),
    toValues: (jobs) =>
      jobs.toSorted((one, other) => Date.parse(other.createdAt) - Date.parse(one.createdAt)).map(toCompletionValue),
  },
  run: ({ saveAs: fileName, ...args }, call, ports) =>
    fileName === undefined ? list(args, call, ports) : saveJobs(args, fileName, call, ports),
});
