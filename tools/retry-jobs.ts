// This module defines retry_jobs, which retries several jobs and waits for the new ones.
import * as z from "zod/v4";
import { listMicJobs, retryMicJob } from "../src/contract/endpoints/job-processing.ts";
import {
  jobIds,
  keyArgument,
  longWaitSeconds,
  MAX_JOBS,
  reasonText,
  retryModeText,
  stringValidatedBy,
  view,
} from "../src/toolkit/arguments.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { jobFilter } from "../src/toolkit/jobs/find-jobs.ts";
import { confirmRestarts, retryMany } from "../src/toolkit/jobs/retrying.ts";
import { outputs } from "../src/toolkit/outputs.ts";

export const retryJobs = defineTool({
  name: "retry_jobs",
  title: "Retry many failed jobs at once",
  description:
    "Retry FAILED or CANCELLED jobs as new jobs, and wait for these. Give jobIds, or createdSince for all worth retrying.",
  searchHint: "rerun or restart all failed jobs",
  effect: "retry",
  input: z
    .strictObject({
      jobIds: jobIds.optional(),
      workspaceId: stringValidatedBy(listMicJobs.query.shape.workspaceId).optional(),
      createdSince: jobFilter.createdSince,
      failureCode: z.string().max(256).describe("Only failures with this code.").optional(),
      limit: z.int().min(1).max(MAX_JOBS).optional(),
      retryMode: retryMicJob.body.shape.retryMode.describe(retryModeText),
      reason: stringValidatedBy(retryMicJob.body.shape.reason).describe(reasonText),
      waitSeconds: longWaitSeconds,
      view,
      ...keyArgument("text"),
    })
    .refine((args) => (args.jobIds === undefined) !== (args.createdSince === undefined), {
      path: ["jobIds"],
      error: "give either jobIds or createdSince",
      params: { code: "CONFLICT" },
    })
    .refine(
      ({ jobIds: ids, failureCode, limit }) => ids === undefined || (failureCode === undefined && limit === undefined),
      {
        path: ["jobIds"],
        error: "excludes failureCode and limit, which go with createdSince",
      },
    )
    .refine(({ createdSince, workspaceId }) => createdSince === undefined || workspaceId !== undefined, {
      path: ["workspaceId"],
    })
    .refine(({ createdSince, retryMode }) => createdSince === undefined || retryMode === "SAFE_RESUME", {
      path: ["retryMode"],
      error: "must be SAFE_RESUME with createdSince; RESTART needs jobIds",
    }),
  output: outputs.answer({ results: outputs.list }, { notSent: outputs.object, retries: outputs.list }),
  confirm: confirmRestarts,
  run: retryMany,
});
