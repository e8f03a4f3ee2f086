// Defines run_jobs: one recipe on many files. The job of a file is the same action as that of run_job, so a repeated call continues it.

import * as z from "zod/v4";
import { deriveStepKey } from "../src/actions/idempotency-keys.ts";
import { timeLeftMs } from "../src/api-client/attempts.ts";
import { InputBinding, matchesInputKind, referenceRule } from "../src/contract/endpoints/bodies.ts";
import { createMicPublicInput } from "../src/contract/endpoints/job-processing.ts";
import type { Job } from "../src/contract/jobs.ts";
import { formatCount } from "../src/core/counts.ts";
import type { Failure } from "../src/core/failure.ts";
import { formatRecordTable } from "../src/core/table.ts";
import { AGENT, render } from "../src/core/text.ts";
import { formatToken } from "../src/core/untrusted-text.ts";
import {
  keyArgument,
  LONG_WAIT_SECONDS,
  longWaitSeconds,
  MAX_JOBS,
  stringValidatedBy,
} from "../src/toolkit/arguments.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { describeInput } from "../src/toolkit/describe/input.ts";
import { MIN_ACTION_MS, readOffer, secondsLeft, withWaitLimit } from "../src/toolkit/jobs/batch.ts";
import {
  createStopRule,
  isKeyUnused,
  isStopOf,
  laterText,
  replayedText,
  runRows,
  type StopRule,
  stoppedFailure,
  stoppedText,
  unusedKeyText,
} from "../src/toolkit/jobs/engine.ts";
import { onlyPort, runJob, submissionArguments, validateAgainstOffer } from "../src/toolkit/jobs/submitting.ts";
import {
  isInProgress,
  jobOutcome,
  operatorNeededText,
  retriedJobRow,
  retryFailedStep,
  tallyStates,
  type WatchedJob,
  watchJobs,
} from "../src/toolkit/jobs/waiting.ts";
import { omitUnofferedTools } from "../src/toolkit/offered-text.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { type NextStep, type Replay, toolResult } from "../src/toolkit/results.ts";
import { fieldErrorsText } from "../src/toolkit/summary-view.ts";
import { type ToolContext, toStepFailure } from "../src/toolkit/tool-context.ts";

const { referenceId } = createMicPublicInput.body.shape;
const { port: Port } = InputBinding.shape;

const fileId = stringValidatedBy(referenceId).refine(
  (id) => matchesInputKind({ inputKind: "M4_FILE", referenceId: id }),
  referenceRule.error,
);

/** One note for all jobs would distinguish none of them. */
const { clientReference: _, ...submission } = submissionArguments({
  files: z.array(fileId).min(1).max(MAX_JOBS).describe("File ids."),
  port: stringValidatedBy(Port).describe("Default: the recipe's only port.").optional(),
});

/** The key of each submission is derived from `idempotencyKey`. */
const input = z.strictObject({
  ...submission,
  waitSeconds: longWaitSeconds,
  ...keyArgument("text"),
});

type RunManyArguments = z.output<typeof input>;

interface FileRow {
  readonly file: string;
  /** The state of the job or of its latest retry; of the input, if no job was submitted; or NOT_READ, NOT_RUN or UNKNOWN. */
  readonly state: string;
  readonly jobId?: string;
  readonly [field: string]: unknown;
}

interface FileResult {
  readonly row: FileRow;
  /** `input`: the input is not ready. `refused`: the API rejected the file. */
  readonly outcome: "ran" | "input" | "refused" | "unknown" | "not sent";
  readonly job?: Job | undefined;
  readonly isUnfinished: boolean;
  readonly replay?: Replay | undefined;
  /** A sentence about an earlier identical call, if the job is new. */
  readonly notice?: string | undefined;
  /** True if an unresolved identical call was resolved under its own key instead. */
  readonly hasUnusedKey?: boolean;
  readonly failure?: Failure | undefined;
}

/** Throws Failure if the recipe has several ports or could not be read, or if the parameters do not fit. */
async function findPort(args: RunManyArguments, ctx: ToolContext): Promise<string> {
  const offer = await readOffer(args.recipeVersionId, ctx);
  const port = args.port ?? onlyPort(offer, "Call run_job for each file instead, with an input for each port.");
  const job = { inputBindings: [{ port, inputId: "" }], parameterValues: args.parameterValues };
  await validateAgainstOffer(offer, job, "The jobs do not fit the recipe.", "inputs", ctx);
  return port;
}

function jobResult(file: string, jobId: string, watched: WatchedJob, ctx: ToolContext): FileResult {
  const { job, failure } = watched;
  const error = failure && { error: failure.facts.code ?? failure.facts.kind.toUpperCase() };
  const outcome = { outcome: "ran", job, failure, isUnfinished: isInProgress(watched) } as const;
  if (!job) return { ...outcome, row: { file, state: "NOT_READ", jobId, ...error } };
  const { id: _, state, createdAt: __, updatedAt: ___, ...rest } = retriedJobRow(jobId, job, ctx);
  return { ...outcome, row: { file, state, jobId, ...rest, ...jobOutcome(job), ...error } };
}

function failureResult(file: string, failure: Failure, ctx: ToolContext): FileResult {
  const { message } = failure;
  const { kind, code, fieldErrors = [], next = [], sideEffect, retryable, status = 0 } = failure.facts;
  const isRefused = !retryable && status < 500;
  const outcome = sideEffect !== "none" ? "unknown" : isRefused ? "refused" : "not sent";
  // A file that the API rejects has its own reason and remedy, which run_job would state.
  const reason = fieldErrors.length > 0 ? `${message} ${fieldErrorsText(fieldErrors)}.` : message;
  const note =
    outcome === "refused" ? `${reason} ${omitUnofferedTools(render(next, AGENT), ctx.isOffered)}`.trim() : reason;
  const state = outcome === "unknown" ? "UNKNOWN" : "NOT_RUN";
  const row = { file, state, error: code ?? kind.toUpperCase(), note };
  return { row, outcome, failure, isUnfinished: retryable };
}

/** Registers, submits and waits for one file, as run_job does. */
async function runFile(
  file: string,
  port: string,
  args: RunManyArguments,
  secondsLeft: () => number,
  stopRule: StopRule,
  ctx: ToolContext,
): Promise<FileResult> {
  const { files: _files, port: _port, waitSeconds: _waitSeconds, idempotencyKey: key, ...job } = args;
  const idempotencyKey = key === undefined ? undefined : deriveStepKey(key, file);
  const inputs = [{ port, referenceId: file }];
  try {
    const again = { tool: "run_jobs", arguments: { ...args, files: [file] } } as const;
    const options = { waitSeconds: Math.max(0, secondsLeft()), until: "replay", again } as const;
    const result = await runJob({ ...job, inputs, idempotencyKey, isDerivedKey: true }, options, ctx);
    if (result.job) {
      const { id } = result.job;
      const { replay, notice } = result;
      const seconds = Math.max(0, secondsLeft());
      const made: WatchedJob = { id, job: result.job };
      const note = result.inputNote;
      // The job of an identical call is read even if no time is left.
      const isCurrent = !replay && seconds === 0;
      const [now = made] = isCurrent
        ? []
        : await watchJobs([id], { until: "all", seconds, stopRule, known: [result.job] }, ctx);
      const hasUnusedKey = isKeyUnused(idempotencyKey, result.action);
      const isAgain = !replay && !hasUnusedKey;
      const ran = { ...jobResult(file, id, now, ctx), hasUnusedKey, replay, notice: isAgain ? notice : undefined };
      return note === undefined ? ran : { ...ran, row: { ...ran.row, note } };
    }
    const { data } = result;
    const { state, id: inputId } = data;
    const isUnfinished = state === "WAITING_SCAN";
    const note = !isUnfinished && "scanState" in data && { note: describeInput(data).summary };
    return { row: { file, state, inputId, ...note }, outcome: "input", isUnfinished };
  } catch (error) {
    return failureResult(file, toStepFailure(error, ctx), ctx);
  }
}

/** Runs the files in order, so that a repeated call meets the jobs in progress first. A worker with an unfinished file starts no other. */
async function runEach(args: RunManyArguments, stopRule: StopRule, toolContext: ToolContext) {
  const { files, waitSeconds = LONG_WAIT_SECONDS } = args;
  const { timing } = toolContext.api;
  const startedAt = timing.clockMs();
  const ctx = withWaitLimit(toolContext, waitSeconds);
  const minActionMs = Math.min(MIN_ACTION_MS, timeLeftMs(ctx, timing) / 2);
  const port = await findPort(args, ctx);
  let ended = 0;
  const report = (file: string, message: string): void =>
    ctx.report({ progress: ended, total: files.length, message: `${formatToken(file)}: ${message}` });
  const results = await runRows(files, {
    stopRule,
    // A call starts some files even if little time is left, so that each call makes progress.
    mayStart: (count) => !ctx.signal.aborted && (count === 0 || timeLeftMs(ctx, timing) >= minActionMs),
    work: (file) =>
      runFile(file, port, args, () => secondsLeft(waitSeconds, startedAt, timing), stopRule, {
        ...ctx,
        ...{ tool: "run_job", proposedKey: undefined, followsTasks: false },
        report: ({ message }) => report(file, message),
      }),
    onResult(file, { row }, count) {
      ended = count;
      report(file, row.state);
    },
  });
  const { reason: stop } = stopRule;
  return files.map((file): FileResult => {
    const result = results.get(file) ?? { outcome: "not sent", isUnfinished: true, row: { file, state: "NOT_SENT" } };
    // The failure that stopped the batch is not the result of this file.
    return isStopOf(stop, result.failure) && result.outcome === "refused"
      ? { ...result, outcome: "not sent", isUnfinished: true }
      : result;
  });
}

/** Returns true for a file that was not sent for a reason that the summary states. */
const isNotSent = ({ outcome, failure }: FileResult, stop: Failure | undefined): boolean =>
  outcome === "not sent" && (failure === undefined || isStopOf(stop, failure));

const stateCounts = (results: readonly FileResult[]): string =>
  tallyStates(
    results.map(({ row, job }) => ({ state: row.state, isRetry: job !== undefined && job.id !== row.jobId })),
  );

/** "3 files ran: 2 SUCCEEDED, 1 FAILED; 2 outcomes are unknown; 6 files were not sent." */
function stoppedCounts(all: readonly FileResult[]): string {
  const select = (outcome: FileResult["outcome"]) => all.filter((result) => result.outcome === outcome);
  const ran = select("ran");
  const inputs = select("input");
  const count = (outcome: FileResult["outcome"], one: string, many: string) => {
    const { length } = select(outcome);
    return length > 0 && formatCount(length, one, many);
  };
  const parts = [
    ran.length > 0 && `${formatCount(ran.length, "file")} ran (${stateCounts(ran)})`,
    inputs.length > 0 && `${formatCount(inputs.length, "input")} not ready (${stateCounts(inputs)})`,
    count("refused", "file was rejected", "files were rejected"),
    count("unknown", "outcome is unknown", "outcomes are unknown"),
    count("not sent", "file was not sent", "files were not sent"),
  ];
  return `${parts.filter(Boolean).join(", ")}.`;
}

const PROMISE = "no job runs twice";

/** Returns the call that looks for outcomes that a repeated call cannot find out, such as those of calls more than 20 h ago. */
function resolveStep(all: readonly FileResult[]): NextStep | undefined {
  const unknown = all.filter(({ outcome, isUnfinished }) => outcome === "unknown" && !isUnfinished);
  const [first, ...others] = unknown.flatMap(({ failure }) =>
    failure?.facts.sideEffect === "unknown" ? (failure.facts.idempotencyKey ?? []) : [],
  );
  if (first === undefined) return undefined;
  const args = others.length === 0 ? { idempotencyKey: first } : {};
  return { tool: "resolve_actions", arguments: args, why: `looks for the unknown outcomes; ${PROMISE}` };
}

async function adviceOf(
  all: readonly FileResult[],
  stop: Failure | undefined,
  { waitSeconds: _, ...args }: RunManyArguments,
  ctx: ToolContext,
): Promise<{ readonly later?: string; readonly nextStep?: NextStep | undefined }> {
  const failures = all.flatMap(({ failure, isUnfinished }) => (failure && isUnfinished ? failure : []));
  const unfinished = all.filter(({ isUnfinished }) => isUnfinished);
  // A call at once makes sense if a file made progress in this one, and another may.
  const mayContinue =
    unfinished.some(({ failure }) => !failure) &&
    all.some(({ outcome, failure }) => !failure && outcome !== "not sent");
  const later = laterText({ stop, failures, mayContinue }, PROMISE, ctx);
  if (later !== undefined) return { later };
  const watched = all.flatMap(({ job }) => (job ? { id: job.id, job } : []));
  if (unfinished.length === 0) return { nextStep: resolveStep(all) ?? (await retryFailedStep(watched, ctx)) };
  const files = unfinished.map(({ row }) => row.file);
  const why = `continues with the unfinished files; ${PROMISE}`;
  return { nextStep: { tool: "run_jobs", arguments: { ...args, files }, why } };
}

function nothingRan(stop: Failure, all: readonly FileResult[], advice: string): Failure {
  const registered = all.filter(({ failure }) => failure?.facts.earlierSteps !== undefined).length;
  const inputs = formatCount(registered, "input was registered", "inputs were registered");
  const them = registered === 1 ? "it" : "them";
  const earlierSteps = registered === 0 ? undefined : `No job was created. ${inputs}; a repeated call uses ${them}.`;
  return stoppedFailure(stop, stoppedCounts(all), advice, earlierSteps);
}

export const runJobs = defineTool({
  name: "run_jobs",
  title: "Run (process) many files in one batch",
  searchHint: "process several files, batch, bulk",
  description: "Run one recipe on up to 50 files, 4 jobs at a time, and return each file's outcome.",
  effect: "create",
  input,
  output: outputs.answer({ results: outputs.list }, { notSent: outputs.object }),
  async run(args, ctx) {
    const stopRule = createStopRule();
    const all = await runEach(args, stopRule, ctx);
    const { reason: stop } = stopRule;
    const { later, nextStep } = await adviceOf(all, stop, args, ctx);
    if (stop && all.every(({ outcome }) => outcome === "not sent")) throw nothingRan(stop, all, later ?? "");
    const results = all.filter((result) => !isNotSent(result, stop)).map(({ row }) => row);
    const files = all.filter((result) => isNotSent(result, stop)).map(({ row }) => row.file);
    const notSent = files.length > 0 ? { count: files.length, files } : undefined;
    const replays = all.flatMap(({ replay }) => replay ?? []);
    const notices = all.flatMap(({ notice }) => notice ?? []);
    const sentences = [
      stop ? `${stoppedText(stop)} ${stoppedCounts(all)}` : `${formatCount(all.length, "file")}: ${stateCounts(all)}.`,
      replayedText("run", replays, String(replays.length)),
      notices.length > 0 && `${formatCount(notices.length, "file")}: ${notices[0]}`,
      unusedKeyText(all.filter(({ hasUnusedKey }) => hasUnusedKey).length),
      operatorNeededText(all.map(({ job }) => job)).trim(),
      later,
    ];
    return toolResult(
      { results },
      {
        summary: sentences.filter(Boolean).join(" "),
        nextStep,
        fields: { results, ...(notSent && { notSent }) },
        lines: [
          results.length > 0 ? formatRecordTable(results) : undefined,
          notSent && `notSent ${notSent.count}: ${files.map((file) => formatToken(file)).join(", ")}`,
        ],
        isReplay: replays.length === all.length,
      },
    );
  },
});
