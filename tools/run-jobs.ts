// This module defines run_jobs, which runs one recipe version with the same parameters on many files. The job of a file is the same action as
// that of run_job, so a repeated call, or run_job, continues it.
import * as z from "zod/v4";
import { deriveStepKey } from "../src/actions/idempotency-keys.ts";
import { timeLeftMs } from "../src/api-client/attempts.ts";
import { InputBinding, matchesInputKind, referenceRule } from "../src/contract/endpoints/bodies.ts";
import { createMicJob, createMicPublicInput } from "../src/contract/endpoints/job-processing.ts";
import type { Job } from "../src/contract/jobs.ts";
import { jsonObject } from "../src/contract/json.ts";
import { invalidArguments } from "../src/core/failure.ts";
import { formatRecordTable } from "../src/core/table.ts";
import { formatToken } from "../src/core/untrusted-text.ts";
import {
  keyArgument,
  LONG_WAIT_SECONDS,
  longWaitSeconds,
  MAX_JOBS,
  parameterValuesText,
  recipeVersionText,
  stringValidatedBy,
} from "../src/toolkit/arguments.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { isJobMoving, summarizeJob } from "../src/toolkit/describe/job.ts";
import {
  countsOf,
  formatCount,
  MIN_ACTION_MS,
  readOffer,
  secondsLeft,
  waitFirstText,
  withWaitLimit,
} from "../src/toolkit/jobs/batch.ts";
import { runJob, validateAgainstOffer } from "../src/toolkit/jobs/submitting.ts";
import { jobOutcome, operatorNeededText, retryFailedStep } from "../src/toolkit/jobs/waiting.ts";
import { omitUnofferedTools } from "../src/toolkit/offered-text.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { type NextStep, toolResult } from "../src/toolkit/results.ts";
import { type ToolContext, toStepFailure } from "../src/toolkit/tool-context.ts";

const { workspaceId, recipeVersionId } = createMicJob.body.shape;
const { referenceId } = createMicPublicInput.body.shape;
const { port: Port } = InputBinding.shape;

const fileId = stringValidatedBy(referenceId).refine(
  (id) => matchesInputKind({ inputKind: "M4_FILE", referenceId: id }),
  referenceRule.error,
);

/** The key of each submission is derived from `idempotencyKey`. */
const input = z.strictObject({
  workspaceId: stringValidatedBy(workspaceId),
  recipeVersionId: stringValidatedBy(recipeVersionId).describe(recipeVersionText),
  files: z
    .array(fileId)
    .max(MAX_JOBS)
    .refine(({ length }) => length > 0, { error: "must name a file" })
    .refine((ids) => new Set(ids).size === ids.length, { error: "must be unique" })
    .describe("File ids."),
  port: stringValidatedBy(Port).describe("Default: the recipe's only port.").optional(),
  parameterValues: jsonObject.describe(parameterValuesText),
  waitSeconds: longWaitSeconds,
  ...keyArgument("text"),
});

type RunManyArguments = z.output<typeof input>;

/** Maximum number of jobs of one call that are in progress at a time. */
const MAX_IN_FLIGHT = 4;

interface FileRow {
  readonly file: string;
  /** The state of the job, or that of the input if no job was submitted; NOT_STARTED, NOT_RUN or UNKNOWN if neither is known. */
  readonly state: string;
  readonly jobId?: string;
  readonly [field: string]: unknown;
}

interface FileResult {
  readonly row: FileRow;
  readonly job?: Job;
  /** True if a repeated call continues this file. */
  readonly isUnfinished: boolean;
  readonly isReplay?: boolean;
  readonly retryAfterSeconds?: number;
}

/**
 * Returns the given port, or the recipe's only one. Throws Failure if the recipe has several or could not be read, or if the parameters do
 * not fit.
 */
async function findPort(args: RunManyArguments, ctx: ToolContext): Promise<string> {
  const offer = await readOffer(args.recipeVersionId, ctx);
  const [only, ...others] = offer?.recipe.inputs.map(({ name }) => name) ?? [];
  const port = args.port ?? (others.length === 0 && Port.safeParse(only).success ? only : undefined);
  if (port === undefined)
    throw invalidArguments(
      others.length === 0
        ? "run_jobs sent nothing: the recipe's port could not be read."
        : `run_jobs sent nothing: the recipe has ${others.length + 1} ports.`,
      [],
      others.length === 0
        ? "Call again with port."
        : "Call run_job for each file instead, with an input for each port.",
    );
  const job = { inputBindings: [{ port, inputId: "" }], parameterValues: args.parameterValues };
  await validateAgainstOffer(offer, job, "run_jobs sent nothing: the jobs do not fit the recipe offer.", "inputs");
  return port;
}

function jobResult(file: string, job: Job, isReplay: boolean, { retries }: Pick<ToolContext, "retries">): FileResult {
  const { id: jobId, state, createdAt: _, updatedAt: __, ...rest } = summarizeJob(job, retries.get(job.id));
  const row = { file, state, jobId, ...rest, ...jobOutcome(job) };
  return { row, job, isUnfinished: isJobMoving(job), isReplay };
}

/** Registers, submits and waits for one file, as run_job does. */
async function runFile(
  file: string,
  port: string,
  args: RunManyArguments,
  waitSeconds: number,
  ctx: ToolContext,
): Promise<FileResult> {
  const { workspaceId, recipeVersionId, parameterValues, idempotencyKey: key } = args;
  const job = { workspaceId, recipeVersionId, parameterValues };
  const idempotencyKey = key === undefined ? undefined : deriveStepKey(key, file);
  const inputs = [{ port, referenceId: file }];
  try {
    const again = { tool: "run_jobs", arguments: { ...args, files: [file] } } as const;
    const options = { waitSeconds, waitsForJob: true, again };
    const result = await runJob({ ...job, inputs, idempotencyKey, isDerivedKey: true }, options, ctx);
    if (result.job) return jobResult(file, result.job, result.isReplay === true, ctx);
    const { state, id: inputId } = result.data;
    return { row: { file, state, inputId }, isUnfinished: state === "WAITING_SCAN" };
  } catch (error) {
    const { facts } = toStepFailure(error, ctx);
    const { kind, code, message, next = "", sideEffect, retryable, retryAfterSeconds } = facts;
    const state = sideEffect === "none" ? "NOT_RUN" : "UNKNOWN";
    // A missing permission has its own remedy for each file.
    const note = kind === "forbidden" ? `${message} ${omitUnofferedTools(next, ctx.isOffered)}`.trim() : message;
    const row = { file, state, error: code ?? kind.toUpperCase(), note };
    return { row, isUnfinished: retryable || sideEffect === "unknown", retryAfterSeconds };
  }
}

/**
 * Runs the files in their order, so that a repeated call meets the jobs in progress first. A worker whose file is not finished when its
 * time is up starts no other, since the job remains in progress.
 */
async function runEach(args: RunManyArguments, toolContext: ToolContext): Promise<readonly FileResult[]> {
  const { files, waitSeconds = LONG_WAIT_SECONDS } = args;
  const { timing } = toolContext.api;
  const startedAt = timing.clockMs();
  const ctx = withWaitLimit(toolContext, waitSeconds);
  const minActionMs = Math.min(MIN_ACTION_MS, timeLeftMs(ctx, timing) / 2);
  const port = await findPort(args, ctx);
  const results = new Map<string, FileResult>();
  const report = (file: string, message: string): void =>
    ctx.report({ progress: results.size, total: files.length, message: `${formatToken(file)}: ${message}` });
  const remaining = files.values();
  async function work(): Promise<void> {
    for (const file of remaining) {
      // A call starts some files even if little time is left, so that each call makes progress.
      if (results.size > 0 && timeLeftMs(ctx, timing) < minActionMs) return;
      const fileContext: ToolContext = {
        ...ctx,
        ...{ tool: "run_job", proposedKey: undefined, followsTasks: false },
        report: ({ message }) => report(file, message),
      };
      const seconds = Math.max(0, secondsLeft(waitSeconds, startedAt, timing));
      const result = await runFile(file, port, args, seconds, fileContext);
      results.set(file, result);
      report(file, result.row.state);
      if (result.isUnfinished) return;
    }
  }
  const ended = await Promise.allSettled(Array.from({ length: MAX_IN_FLIGHT }, work));
  for (const each of ended) if (each.status === "rejected") throw each.reason;
  return files.map((file) => results.get(file) ?? { row: { file, state: "NOT_STARTED" }, isUnfinished: true });
}

async function nextStep(
  all: readonly FileResult[],
  { waitSeconds: _, ...args }: RunManyArguments,
  ctx: ToolContext,
): Promise<NextStep | undefined> {
  const unfinished = all.filter(({ isUnfinished }) => isUnfinished);
  if (unfinished.length === 0) {
    const watched = all.flatMap(({ job }) => (job ? { id: job.id, job, failure: undefined } : []));
    return await retryFailedStep(watched, ctx);
  }
  const files = unfinished.map(({ row }) => row.file);
  const why = `${waitFirstText(unfinished)}continues with the unfinished files; no job runs twice`;
  return { tool: "run_jobs", arguments: { ...args, files }, why };
}

export const runJobs = defineTool({
  name: "run_jobs",
  title: "Run (process) many files in one batch",
  searchHint: "process several files, batch, bulk",
  description: "Run one recipe on up to 50 files, 4 jobs at a time, and return each file's outcome.",
  effect: "create",
  input,
  output: outputs.answer({ results: outputs.list }),
  async run(args, ctx) {
    const all = await runEach(args, ctx);
    const results = all.map(({ row }) => row);
    const replayedCount = all.filter(({ isReplay }) => isReplay).length;
    const states = `${formatCount(all.length, "file")}: ${countsOf(results.map(({ state }) => state))}.`;
    const replayed = replayedCount > 0 ? ` Run before by an identical call: ${replayedCount}.` : "";
    return toolResult(
      ctx,
      { results },
      {
        summary: states + replayed + operatorNeededText(all.map(({ job }) => job)),
        nextStep: await nextStep(all, args, ctx),
        lines: [formatRecordTable(results)],
        isReplay: replayedCount === all.length,
      },
    );
  },
});
