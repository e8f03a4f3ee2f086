// This module defines wait_for_jobs, which waits until all or any of several jobs stop.
import * as z from "zod/v4";
import { countPart } from "../src/core/counts.ts";
import { formatRecordTable } from "../src/core/table.ts";
import { say } from "../src/core/text.ts";
import { jobIds, LONG_WAIT_SECONDS, longWaitSeconds } from "../src/toolkit/arguments.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { explainMissingId, missingIdNote } from "../src/toolkit/id-hints.ts";
import { startBulk } from "../src/toolkit/jobs/bulk.ts";
import { bulkResult, renderRows } from "../src/toolkit/jobs/bulk-results.ts";
import { readOrigins } from "../src/toolkit/jobs/origins.ts";
import {
  isInProgress,
  retryFailedStep,
  stateOf,
  tallyStates,
  type WatchedJob,
  watchedJobRow,
  watchJobs,
} from "../src/toolkit/jobs/waiting.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import type { ToolContext } from "../src/toolkit/tool-context.ts";

/** Adds the notes and the inputs of the jobs to their rows. */
async function rowsOf(watched: readonly WatchedJob[], ctx: ToolContext) {
  const ids = watched.map(({ id }) => id);
  const origins = await readOrigins(ids, ctx);
  return watched.map((each) => {
    const note = each.failure && missingIdNote(each.failure.facts, { jobId: each.id });
    return { cells: { ...watchedJobRow(each, ctx), ...origins.get(each.id) }, note };
  });
}

export const waitForJobs = defineTool({
  name: "wait_for_jobs",
  title: "Wait for several jobs to finish",
  description: "Wait until all or any of several jobs end, pause or need a review. Returns their states and failures.",
  searchHint: "until finished, done",
  effect: "read",
  input: z.strictObject({ jobIds, until: z.enum(["all", "any"]).optional(), waitSeconds: longWaitSeconds }),
  output: outputs.answer({ jobs: outputs.list, running: outputs.integer }),
  async run({ jobIds, until, waitSeconds = LONG_WAIT_SECONDS }, toolContext) {
    const bulk = startBulk(waitSeconds, toolContext);
    const watched = await watchJobs(jobIds, { until: until ?? "all" }, bulk);
    const failures = watched.flatMap(({ failure }) => failure ?? []);
    const [missing, ...others] = failures.filter(({ facts }) => facts.kind === "not_found");
    if (missing && others.length + 1 === watched.length)
      throw explainMissingId(
        others.length === 0
          ? missing
          : missing.with({ message: say`None of these jobs was found. ${missing.facts.message}` }),
        { jobId: jobIds[0] },
      );
    const jobs = await rowsOf(watched, bulk.ctx);
    const running = watched.filter(isInProgress).map(({ id }) => id);
    return await bulkResult(
      { jobs, running: running.length },
      {
        fields: (reader) => ({ jobs: renderRows(jobs, reader), running: running.length }),
        counts: say`${tallyStates(watched.map((each) => ({ ...each, state: stateOf(each) })))}.`,
        nothingDone:
          watched.every(({ job }) => job === undefined) &&
          say`${countPart(jobs.length, "job was", "jobs were")} not read.`,
        failures: failures.filter(({ facts }) => facts.retryable),
        // A call at once makes sense if a job in progress can be read.
        mayContinue: watched.some((each) => isInProgress(each) && !each.failure),
        promise: say`the jobs continue`,
        jobs: watched.map(({ job }) => job),
        nextStep() {
          if (running.length === 0)
            return retryFailedStep(
              watched.map(({ job }) => job),
              bulk.ctx,
            );
          const args = { jobIds: running, ...(until !== undefined && { until }) };
          return { tool: "wait_for_jobs", arguments: args, why: say`waits for the jobs that are still in progress` };
        },
        lines: [(reader) => formatRecordTable(renderRows(jobs, reader)), say`${running.length} still running`],
      },
      bulk,
    );
  },
});
