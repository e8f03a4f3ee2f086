import * as z from "zod/v4";
import { listMicJobs } from "../src/contract/endpoints/job-processing.ts";
import type { Job } from "../src/contract/jobs.ts";
import { summarizeJob } from "../src/toolkit/advice/job.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { pageResult, view } from "../src/toolkit/pages.ts";
import { uris } from "../src/toolkit/resources/uri.ts";

export const listJobs = defineTool({
  endpoint: listMicJobs,
  name: "list_jobs",
  title: "List jobs",
  description: "The workspace's jobs, a page at a time: id, state, stage, failure.",
  effect: "read",
  input: z.strictObject({ ...listMicJobs.query.shape, view }),
  output: outputs.page<Job>(),
  candidates: {
    kind: "jobId",
    keptMs: 10_000,
    arguments: (workspaceId) => (workspaceId === undefined ? undefined : { workspaceId, limit: 100 }),
    from: (jobs) => jobs.map(({ id }) => ({ value: id })),
  },
  async run({ view, ...query }, { context }, { service, retries }) {
    const answer = await service.call(listMicJobs, { query }, context);
    retries.remember(answer.value.data);
    return pageResult(answer, {
      tool: "list_jobs",
      query,
      view,
      items: "jobs",
      summarize: (job) => summarizeJob(job, retries.of(job.id)),
      link: uris.jobs(query.workspaceId),
    });
  },
});
