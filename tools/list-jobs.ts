import * as z from "zod/v4";
import { listMicJobs } from "../src/contract/endpoints/job-processing.ts";
import type { Job } from "../src/contract/jobs.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { ENDED } from "../src/toolkit/jobs/ended.ts";
import { isFilter, jobFilter } from "../src/toolkit/jobs/job-filter.ts";
import { filteredJobs, pageOfJobs, savedJobs } from "../src/toolkit/jobs/job-lists.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { view } from "../src/toolkit/pages.ts";
import type { Candidate } from "../src/toolkit/resources/candidate.ts";
import { saveAs } from "../src/toolkit/save-rows.ts";

const candidate = ({ id, state, failure }: Job): Candidate => ({
  value: id,
  name: `${state} ${failure?.code ?? ""}`,
  isUnsettled: !ENDED.has(state),
});

export const listJobs = defineTool({
  endpoint: listMicJobs,
  name: "list_jobs",
  title: "List jobs",
  description: "The workspace's jobs: id, state, stage, failure. A filter looks through up to 1000.",
  effect: "export",
  input: z.strictObject({ ...listMicJobs.query.shape, ...jobFilter, view, saveAs }),
  output: outputs.page<Job>({ counts: outputs.object, read: outputs.object }),
  candidates: {
    kind: "jobId",
    keptMs: 10_000,
    arguments: (workspaceId) => (workspaceId === undefined ? undefined : { workspaceId, limit: 100 }),
    from: (jobs) =>
      jobs.toSorted((one, other) => Date.parse(other.createdAt) - Date.parse(one.createdAt)).map(candidate),
  },
  run({ saveAs: fileName, ...args }, call, ports) {
    if (fileName !== undefined) return savedJobs(args, fileName, call, ports);
    return isFilter(args) ? filteredJobs(args, call, ports) : pageOfJobs(args, call, ports);
  },
});
