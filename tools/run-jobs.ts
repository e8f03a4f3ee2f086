// Defines run_jobs: one recipe on many files. The job of a file is the same action as that of run_job, so a repeated call continues it.

import * as z from "zod/v4";
import { InputBinding, matchesInputKind, referenceRule } from "../src/contract/endpoints/bodies.ts";
import { createMicPublicInput } from "../src/contract/endpoints/job-processing.ts";
import { countPart } from "../src/core/counts.ts";
import type { Failure } from "../src/core/failure.ts";
import { join, own, say, type Text } from "../src/core/text.ts";
import {
  keyArgument,
  LONG_WAIT_SECONDS,
  longWaitSeconds,
  MAX_JOBS,
  stringValidatedBy,
} from "../src/toolkit/arguments.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { describeInput } from "../src/toolkit/describe/input.ts";
import { readOffer } from "../src/toolkit/jobs/batch.ts";
import {
  type Bulk,
  type BulkRow,
  type RowOutcome,
  runActions,
  type ShownRow,
  type SingleResult,
  startBulk,
} from "../src/toolkit/jobs/bulk.ts";
import { actionsResult } from "../src/toolkit/jobs/bulk-results.ts";
import { onlyPort, runJob, submissionArguments, validateAgainstOffer } from "../src/toolkit/jobs/submitting.ts";
import {
  isInProgress,
  retryFailedStep,
  tallyStates,
  type WatchedJob,
  watchedJobRow,
  watchJobs,
} from "../src/toolkit/jobs/waiting.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { fieldErrorsText } from "../src/toolkit/summary-view.ts";
import type { ToolContext } from "../src/toolkit/tool-context.ts";

const { referenceId } = createMicPublicInput.body.shape;
const { port: Port } = InputBinding.shape;

const fileId = stringValidatedBy(referenceId).refine(
  (id) => matchesInputKind({ inputKind: "M4_FILE", referenceId: id }),
  referenceRule.error,
);

/** One note for all jobs would distinguish none of them. */
const { clientReference: _, ...submission } = submissionArguments({
  files: z.array(fileId).min(1).max(MAX_JOBS).describe("File ids, from the user."),
  port: stringValidatedBy(Port).describe("Default: the recipe's only port.").optional(),
});

/** The key of each submission is derived from `idempotencyKey`. */
const input = z.strictObject({
  ...submission,
  waitSeconds: longWaitSeconds,
  ...keyArgument("text"),
});

type RunManyArguments = z.output<typeof input>;

/** Throws Failure if the recipe has several ports or could not be read, or if the parameters do not fit. */
async function findPort(args: RunManyArguments, ctx: ToolContext): Promise<string> {
  const offer = await readOffer(args.recipeVersionId, ctx);
  const port = args.port ?? onlyPort(offer, 1, say`Call run_job for each file instead, with an input for each port.`);
  const job = { inputBindings: [{ port, inputId: "" }], parameterValues: args.parameterValues };
  await validateAgainstOffer(offer, job, say`The jobs do not fit the recipe.`, "inputs", ctx);
  return port;
}

/** `state`: that of the job or of its latest retry, or NOT_READ. */
function jobRow(file: string, watched: WatchedJob, ctx: ToolContext): SingleResult {
  const { id: jobId, job, failure } = watched;
  const { id: _, updatedAt: __, ...row } = { updatedAt: "", ...watchedJobRow(watched, ctx) };
  return { job, failure, isUnfinished: isInProgress(watched), cells: { file, state: "NOT_READ", jobId, ...row } };
}

/** Registers, submits and waits for one file, as run_job does. Throws Failure. */
async function runFile(
  file: string,
  port: string,
  args: RunManyArguments,
  key: string | undefined,
  bulk: Bulk,
): Promise<SingleResult> {
  const { ctx } = bulk;
  const { files: _files, port: _port, waitSeconds: _waitSeconds, idempotencyKey: _key, ...job } = args;
  const again = { tool: "run_jobs", arguments: { ...args, files: [file] } } as const;
  const options = { waitSeconds: bulk.secondsLeft(), until: "replay", again } as const;
  const made = await runJob(
    { ...job, inputs: [{ port, referenceId: file }], idempotencyKey: key, isDerivedKey: true },
    options,
    ctx,
  );
  if (made.job) {
    const { id } = made.job;
    // The job of an identical call is read even if no time is left.
    const isCurrent = !made.replay && bulk.secondsLeft() === 0;
    const [now = { id, job: made.job }] = isCurrent
      ? []
      : await watchJobs([id], { until: "all", known: [made.job] }, bulk);
    return {
      made,
      ...jobRow(file, now, ctx),
      note: made.inputNote,
    };
  }
  const { state, id: inputId } = made.data;
  const isUnfinished = state === "WAITING_SCAN";
  const note = !isUnfinished && "scanState" in made.data ? describeInput(made.data).summary : undefined;
  return { cells: { file, state, inputId }, note, isUnfinished };
}

const STATES = { done: "UNKNOWN", refused: "NOT_RUN", unknown: "UNKNOWN", "not sent": "NOT_RUN" } as const;

function failedRow(file: string, outcome: RowOutcome, failure: Failure | undefined): ShownRow {
  if (!failure) return { cells: { file, state: "NOT_SENT" } };
  const { kind, code, fieldErrors = [], next } = failure.facts;
  // A file that the API rejects has its own reason and remedy, which run_job would state.
  const fields = fieldErrors.length > 0 && say`${fieldErrorsText(fieldErrors)}.`;
  const note = join([failure.facts.message, fields, outcome === "refused" && next]);
  return { cells: { file, state: STATES[outcome], error: code ?? kind.toUpperCase() }, note };
}

/** What the call did if it created no job. */
function earlierStepsOf(rows: readonly BulkRow[]): Text | undefined {
  const registered = rows.filter(({ failure }) => failure?.facts.earlierSteps !== undefined).length;
  const inputs = countPart(registered, "input was registered", "inputs were registered");
  const them = own(registered === 1 ? "it" : "them");
  return registered === 0 ? undefined : say`No job was created. ${inputs}; a repeated call uses ${them}.`;
}

export const runJobs = defineTool({
  name: "run_jobs",
  title: "Run (process) many files in one batch",
  searchHint: "process several files, batch, bulk",
  description: "Run one recipe on up to 50 files, 4 jobs at a time, and return each file's outcome.",
  effect: "create",
  input,
  output: outputs.answer({ results: outputs.list }, { notSent: outputs.object }),
  async run(args, toolContext) {
    const { waitSeconds = LONG_WAIT_SECONDS, ...again } = args;
    const bulk = startBulk(waitSeconds, toolContext);
    const { ctx } = bulk;
    const port = await findPort(args, ctx);
    const rows = await runActions(
      {
        ...{ tool: "run_job", ids: args.files, idempotencyKey: args.idempotencyKey },
        single: (file, key, own) =>
          runFile(file, port, args, key, { ...bulk, ctx: { ...own, proposedKey: undefined } }),
        failedRow,
        // At most 4 jobs are in progress.
        occupies: ({ isUnfinished }) => isUnfinished === true,
      },
      bulk,
    );
    const states = rows.map(({ job, cells }) => ({ id: cells["jobId"], job, state: String(cells["state"]) }));
    return await actionsResult(
      rows,
      {
        ...{ noun: "file", argument: "files", verb: "run", done: "run", promise: say`no job runs twice` },
        counts: say`${countPart(rows.length, "file")}: ${tallyStates(states)}.`,
        earlierSteps: earlierStepsOf(rows),
        again: { tool: "run_jobs", arguments: again },
        nextStep: () =>
          retryFailedStep(
            rows.map(({ job }) => job),
            ctx,
          ),
      },
      bulk,
    );
  },
});
