// Implements `mic-mcp watch JOB`, which shows the stages of a job until it has ended, as a drawing on a terminal or as lines.
import { ATTEMPT_LIMIT_MS } from "../api-client/attempts.ts";
import type { ApiClient } from "../api-client/client.ts";
import { getMicJob } from "../contract/endpoints/job-processing.ts";
import { type Job, STAGES, type Stage } from "../contract/jobs.ts";
import { UsageError } from "../core/config.ts";
import { Failure } from "../core/failure.ts";
import { escapeText, formatJson } from "../core/untrusted-text.ts";
import { agentReaderOf } from "../mcp/tools/call.ts";
import { isJobInProgress, jobProgress, needsUserAction } from "../toolkit/describe/job.ts";
import { describeJobWith } from "../toolkit/jobs/job-history.ts";
import { waitUntil } from "../toolkit/polling.ts";
import { compactJson, renderResult, toolResult } from "../toolkit/results.ts";
import { type CommandContext, withRuntime } from "./backend.ts";
import { parseIntegerFlag, type RunCommand } from "./commands.ts";
import { UNFINISHED, UNSUCCESSFUL } from "./job-exit-code.ts";
import { applyStyle, createStopwatch, isTerminal, type Screen } from "./terminal.ts";
import { quoteForShell, terminalReader } from "./terminal-reader.ts";

type StageStatus = "open" | "done" | "not needed" | "failed";

const STATUS: Readonly<Record<string, StageStatus>> = {
  PENDING: "open",
  RUNNING: "open",
  WAITING_REVIEW: "open",
  SUCCEEDED: "done",
  NOT_REQUIRED: "not needed",
  FAILED: "failed",
  CANCELLED: "failed",
};

function formatTitle({ stage, completedUnits, totalUnits, attemptCount }: Stage): string {
  const tries = attemptCount > 1 ? `, attempt ${attemptCount}` : "";
  return `${stage} ${completedUnits}/${totalUnits ?? "?"}${tries}`;
}

/** Returns a note if a user must act before the job continues, else "". */
const formatWaitNote = (job: Job): string =>
  needsUserAction(job) ? `${job.state}: a user must act before the job continues` : "";

interface JobView {
  show(job: Job): void;
  /** Writes text to stderr without damaging the drawing. */
  warn(text: string): void;
  end(): void;
}

const FRAMES = [..."⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"];
const FRAME_MS = 100;
const MARKS = { open: " ", done: "✔", "not needed": "↓", failed: "✖" } as const;
const COLORS = { open: "reset", done: "green", "not needed": "yellow", failed: "red" } as const;

function createStageDrawing(stream: Screen): JobView {
  let job: Job | undefined;
  const formatTime = createStopwatch();
  let drawnLines = 0;
  let frame = 0;

  function erase(): void {
    if (drawnLines > 0) stream.write(`\u001b[${drawnLines}A\u001b[J`);
    drawnLines = 0;
  }

  /** Draws nothing before the job is read, because it may not exist. */
  function draw(isEnd = false): void {
    if (job === undefined) return;
    const { stages } = job;
    const rows = STAGES.map((name) => {
      const stage = stages.find((each) => each.stage === name);
      const status = STATUS[stage?.state ?? ""] ?? "open";
      const title = stage ? formatTitle(stage) : name;
      return { status, title: status === "not needed" ? `${title} not needed` : title };
    });
    const current = isEnd ? -1 : rows.findIndex(({ status }) => status !== "done" && status !== "not needed");
    const lines = rows.flatMap(({ status, title }, index) => {
      const isCurrent = index === current && status === "open";
      const mark = applyStyle(COLORS[status], (isCurrent && FRAMES[frame % FRAMES.length]) || MARKS[status], stream);
      const note = isCurrent && job ? formatWaitNote(job) : "";
      return [`${mark} ${title}`, ...(note === "" ? [] : [`  › ${note}`])];
    });
    frame += 1;
    if (!isEnd) lines.push(applyStyle("dim", `  ${formatTime(jobProgress(job))}`, stream));
    erase();
    stream.write(`${lines.join("\n")}\n`);
    drawnLines = lines.length;
  }

  const timer = setInterval(() => draw(), FRAME_MS).unref();
  return {
    show(next) {
      job = next;
      draw();
    },
    warn(text) {
      erase();
      process.stderr.write(text);
      draw();
    },
    end() {
      clearInterval(timer);
      draw(true);
    },
  };
}

const isCurrent = ({ state }: Stage): boolean =>
  state !== "PENDING" && state !== "SUCCEEDED" && state !== "NOT_REQUIRED";

function formatLine(job: Job): string {
  const stage = job.stages.find(isCurrent);
  return [formatWaitNote(job) || job.state, ...(stage ? [formatTitle(stage)] : [])].join(" ");
}

function formatJsonLine({ id, state, stages }: Job): string {
  const { stage, completedUnits, totalUnits, attemptCount } = stages.find(isCurrent) ?? {};
  return compactJson({ jobId: id, state, stage, completedUnits, totalUnits, attemptCount });
}

const createLineView =
  (format: (job: Job) => string) =>
  (stream: Screen): JobView => {
    let last = "";
    return {
      show(job) {
        const line = format(job);
        if (line !== last) stream.write(`${line}\n`);
        last = line;
      },
      warn: (text) => void process.stderr.write(text),
      end: () => undefined,
    };
  };

const MIN_COLUMNS = 60;
const MIN_ROWS = STAGES.length + 4;
/** Lines of the drawing must not wrap, and all of them must fit on the screen, because they are redrawn. */
const canDraw = (stream: NodeJS.WriteStream): boolean =>
  isTerminal(stream) && stream.columns >= MIN_COLUMNS && (stream.rows || 24) >= MIN_ROWS;

const RETRY_PAUSE_SECONDS = 5;

const mayContinue = (job: Job): boolean => isJobInProgress(job) || needsUserAction(job);

/** The job as it was last read; `failure`: the error of the last read. */
interface Reading {
  readonly job: Job | undefined;
  readonly failure?: Failure;
}

/**
 * Reads a job until it has ended (or once), or the signal is aborted. A temporary failure of the API does not end the command. Returns
 * undefined if the signal was aborted before the job was read.
 */
async function followJob(
  jobId: string,
  { service, signal }: { readonly service: ApiClient; readonly signal: AbortSignal },
  onJob: (job: Job) => void,
  onRetry: (failure: Failure) => void,
  isOnce: boolean,
): Promise<Job | undefined> {
  const { timing } = service;
  let job: Job | undefined;

  async function read(): Promise<Reading> {
    try {
      const context = { signal, deadlineAt: timing.clockMs() + ATTEMPT_LIMIT_MS };
      job = (await service.call(getMicJob, { path: { jobId } }, context)).value.data;
      onJob(job);
      return { job };
    } catch (error) {
      if (signal.aborted) return { job };
      if (!(error instanceof Failure) || isOnce || !error.facts.retryable) throw error;
      onRetry(error);
      return { job, failure: error };
    }
  }

  const isDone = (reading: Reading): boolean =>
    isOnce || signal.aborted || (reading.failure === undefined && job !== undefined && !mayContinue(job));
  const reading = await waitUntil(read, isDone, {
    ...{ signal, timing, deadlineAt: Number.POSITIVE_INFINITY, seconds: Number.POSITIVE_INFINITY },
    version: ({ job: read }) => read?.resourceVersion,
    minPauseMs: ({ failure }) => (failure ? (failure.facts.retryAfterSeconds ?? RETRY_PAUSE_SECONDS) * 1_000 : 0),
  });
  return reading.job;
}

async function watchJob(jobId: string, timeoutSeconds: number | undefined, context: CommandContext): Promise<number> {
  const { runtime, signal: stopped, flags, isJson } = context;
  const { ports, redactor } = runtime;
  const { redact } = redactor;
  const { stdout, stderr } = process;
  const isOnce = timeoutSeconds === 0;
  const timeout = timeoutSeconds === undefined || isOnce ? [] : [AbortSignal.timeout(timeoutSeconds * 1_000)];
  const signal = AbortSignal.any([stopped, ...timeout]);
  const createView =
    !isJson && canDraw(stdout) ? createStageDrawing : createLineView(isJson ? formatJsonLine : formatLine);
  const view = createView(stdout);
  function writeStop(state: string): void {
    const again = ["mic-mcp watch", quoteForShell(escapeText(jobId)), ...flags].join(" ");
    const reason = stopped.aborted ? "Stopped watching" : `Stopped watching after ${timeoutSeconds} s`;
    stderr.write(`${redact(`${reason}; ${state}. Run ${again} to watch it again.`)}\n`);
  }
  let job: Job | undefined;
  try {
    const onRetry = ({ message }: Failure) => view.warn(redact(`${message} Retrying.\n`));
    job = await followJob(jobId, { service: ports.api, signal }, view.show, onRetry, isOnce);
  } finally {
    view.end();
  }
  if (job === undefined) {
    writeStop("the job was not read");
    return 1;
  }
  if (mayContinue(job)) {
    writeStop("the job keeps running");
    return UNFINISHED;
  }
  const { summary, nextStep: step } = await describeJobWith(ports)(job, ports.api.timing.now());
  const reader = isJson ? agentReaderOf(runtime) : terminalReader(runtime, flags);
  const { structured } = renderResult(toolResult({}, { summary, nextStep: step }), reader);
  if (isJson) stdout.write(`${redact(compactJson({ jobId: job.id, state: job.state, ...structured }))}\n`);
  else {
    const { nextStep } = structured;
    stdout.write(`${redact(structured.summary)}\n`);
    if (nextStep)
      stderr.write(`${redact(reader.formatCall(nextStep.tool, nextStep.arguments))}    # ${nextStep.why}\n`);
  }
  return job.state === "SUCCEEDED" ? 0 : UNSUCCESSFUL;
}

/** A longer time does not fit into a timer. */
const MAX_TIMEOUT_SECONDS = 2_000_000;

/** Returns exit code 0 if the job SUCCEEDED, 5 if it ended otherwise, 6 if it was still running, and 1 if it was not read. Throws UsageError. */
export const watch: RunCommand<"watch"> = async ({ values, positionals }, environment) => {
  const [jobId, ...more] = positionals;
  if (jobId === undefined || more.length > 0) throw new UsageError("mic-mcp watch requires one job id.");
  const { success, error } = getMicJob.pathParameters.safeParse({ jobId });
  if (!success) throw new UsageError(`${formatJson(jobId)} is not a job id: ${error.issues[0]?.message}.`);
  const timeoutSeconds = parseIntegerFlag("timeout", values.timeout, MAX_TIMEOUT_SECONDS);
  return await withRuntime("watch", environment, values, (context) => watchJob(jobId, timeoutSeconds, context));
};
