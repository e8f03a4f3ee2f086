// Retrying many jobs in one call: one retry_job action for each, so none is retried twice, whoever repeats what.
import { stepKey } from "../../actions/keys.ts";
import type { NamedAction } from "../../actions/of-service.ts";
import { type CallContext, type Pace, type Timing, timeLeftMs } from "../../api-client/attempts.ts";
import { getMicJob } from "../../contract/endpoints/job-processing.ts";
import type { Job } from "../../contract/jobs.ts";
import { Failure, type FailureFacts } from "../../failure.ts";
import { quote, word } from "../../outside.ts";
import { table } from "../../table.ts";
import { knownRetry } from "../advice/job-history.ts";
import type { PreparedQuestion } from "../define-tool.ts";
import type { JobPorts } from "../ports.ts";
import { answerResult, type NextStep, type ToolResult } from "../results.ts";
import type { ToolCall } from "../tool-call.ts";
import type { ToolName } from "../tool-names.ts";
import { countsOf, eachOfMany, hasTimeToAct, PATIENT_SECONDS, secondsLeft, withTimeToAnswer } from "./batch.ts";
import { retryOnce, retryTraits } from "./retrying.ts";
import { movingIds, watchJobs } from "./watch-jobs.ts";

const RETRY: ToolName = "retry_job";

interface RetryManyArguments {
  readonly jobIds: readonly string[];
  readonly retryMode: "SAFE_RESUME" | "RESTART";
  readonly reason: string;
  readonly waitSeconds?: number | undefined;
  /** The key of each retry is derived from it. */
  readonly idempotencyKey?: string | undefined;
}

export interface RetryRow {
  readonly jobId: string;
  readonly outcome: "retried" | "rejected" | "unknown" | "not sent";
  readonly newJobId?: string;
  /** Of the new job. */
  readonly state?: Job["state"];
  readonly code?: string;
  /** Where the outcome is unknown. */
  readonly idempotencyKey?: string;
}

/** What has become of one job, and what is to be done about it. */
interface Retried {
  readonly row: RetryRow;
  /** The same call for this job again may do it, or tell what became of it. */
  readonly isWorthRepeating: boolean;
  /** The same call retried it before: nothing was sent now. */
  readonly isOld?: boolean;
  readonly retryAfterSeconds?: number | undefined;
}

interface RetryAnswer {
  readonly results: readonly RetryRow[];
}

/** The agent's own code for it, as the service says it where it refuses. */
const ALREADY_RETRIED = "ALREADY_RETRIED";
const OUT_OF_TIME = "OUT_OF_TIME";

const actionOf = (jobId: string, { retryMode, reason, idempotencyKey }: RetryManyArguments): NamedAction => ({
  tool: RETRY,
  arguments: { jobId, retryMode, reason },
  traits: retryTraits,
  explicitKey: idempotencyKey === undefined ? undefined : stepKey(idempotencyKey, jobId),
  isDerivedKey: true,
});

const settled = (row: RetryRow): Retried => ({ row, isWorthRepeating: false });

/** Why nothing is sent for this job; undefined if it is retried, or the journal has its retry. */
async function whyNot(jobId: string, args: RetryManyArguments, ports: JobPorts): Promise<Retried | undefined> {
  if (await ports.actions.findKnown(actionOf(jobId, args))) return undefined;
  // A new key asks for another retry on purpose.
  const retry = args.idempotencyKey === undefined ? await knownRetry(jobId, ports) : undefined;
  if (!retry) return undefined;
  const newJobId = retry.id !== undefined && { newJobId: retry.id };
  return settled({ jobId, outcome: "not sent", ...newJobId, code: ALREADY_RETRIED });
}

/** The service has looked at the request and said no. */
const isRefusal = ({ status = 0 }: FailureFacts): boolean =>
  status >= 400 && status < 500 && status !== 408 && status !== 429;

function outcomeOf(facts: FailureFacts): RetryRow["outcome"] {
  if (facts.sideEffect === "unknown") return "unknown";
  if (facts.sideEffect === "done") return "retried";
  return isRefusal(facts) ? "rejected" : "not sent";
}

async function failed(jobId: string, { facts }: Failure, ports: JobPorts): Promise<Retried> {
  const outcome = outcomeOf(facts);
  const isOpen = outcome === "unknown" || outcome === "not sent";
  const retry = facts.status === 409 ? (await knownRetry(jobId, ports))?.id : undefined;
  const row: RetryRow = {
    jobId,
    outcome,
    ...(retry !== undefined && { newJobId: retry }),
    code: facts.code ?? facts.kind.toUpperCase(),
    ...(outcome === "unknown" && facts.idempotencyKey !== undefined && { idempotencyKey: facts.idempotencyKey }),
  };
  return { row, isWorthRepeating: isOpen && facts.retryable, retryAfterSeconds: facts.retryAfterSeconds };
}

/** Waits until the service may be asked again; false where that is too late for this call. */
async function isLetGo(pace: Pace, context: CallContext, timing: Timing): Promise<boolean> {
  for (;;) {
    const waitMs = pace.heldUntilAt - timing.now();
    if (!hasTimeToAct({ ...context, deadlineAt: context.deadlineAt - Math.max(0, waitMs) }, timing)) return false;
    if (waitMs <= 0) return true;
    await timing.sleep(waitMs, context.signal);
  }
}

async function retryEach(
  args: RetryManyArguments,
  call: ToolCall,
  ports: JobPorts,
  steps: number,
): Promise<readonly Retried[]> {
  const { jobIds, retryMode, reason } = args;
  // What must not be sent is known for all before any is sent.
  const refused = new Map<string, Retried>();
  await eachOfMany(jobIds, async (jobId) => {
    const why = await whyNot(jobId, args, ports);
    if (why) refused.set(jobId, why);
  });
  const pace: Pace = { heldUntilAt: 0 };
  const context: CallContext = { ...withTimeToAnswer(call.context), pace };
  const { timing } = ports.service;
  let done = 0;

  async function retry(jobId: string): Promise<Retried> {
    const why = refused.get(jobId);
    if (why) return why;
    if (!(await isLetGo(pace, context, timing))) {
      const heldMs = Math.max(0, pace.heldUntilAt - timing.now());
      const wait = heldMs > 0 && { retryAfterSeconds: Math.ceil(heldMs / 1_000) };
      return { row: { jobId, outcome: "not sent", code: OUT_OF_TIME }, isWorthRepeating: true, ...wait };
    }
    const proposedKey = call.proposedKey === undefined ? undefined : stepKey(call.proposedKey, jobId);
    try {
      const asOne: ToolCall = { ...call, tool: RETRY, context, proposedKey };
      const { explicitKey: idempotencyKey } = actionOf(jobId, args);
      const retryArguments = { jobId, retryMode, reason, idempotencyKey, isDerivedKey: true };
      const { data, replay } = await retryOnce(retryArguments, asOne, ports);
      const isOld = replay !== undefined;
      return { ...settled({ jobId, outcome: "retried", newJobId: data.id, state: data.state }), isOld };
    } catch (error) {
      if (!(error instanceof Failure) || context.signal.aborted) throw error;
      return await failed(jobId, error, ports);
    }
  }

  return await eachOfMany(jobIds, async (jobId) => {
    const retried = await retry(jobId);
    done += 1;
    call.report({ progress: done, total: steps, message: `${word(jobId)} ${retried.row.outcome}` });
    return retried;
  });
}

function nextStep(
  all: readonly Retried[],
  moving: readonly string[],
  { retryMode, reason, idempotencyKey }: RetryManyArguments,
): NextStep | undefined {
  const again = all.filter(({ isWorthRepeating }) => isWorthRepeating);
  if (again.length > 0) {
    const waitSeconds = Math.max(0, ...again.map(({ retryAfterSeconds = 0 }) => retryAfterSeconds));
    const wait = waitSeconds > 0 ? `wait ${waitSeconds} s first; ` : "";
    const jobIds = again.map(({ row }) => row.jobId);
    const why = `${wait}continues with the rest and resolves what is unknown; none is retried twice`;
    const key = idempotencyKey !== undefined && { idempotencyKey };
    return { tool: "retry_jobs", arguments: { jobIds, retryMode, reason, ...key }, why };
  }
  if (moving.length === 0) return undefined;
  return {
    tool: "wait_for_jobs",
    arguments: { jobIds: moving },
    why: "shows how they stand, and waits for what moves",
  };
}

/** "Retried 10 of 12: 10 SUCCEEDED. The others: 2 rejected (JOB_NOT_RETRYABLE)." `old`: so many were retried before. */
function summaryOf(rows: readonly RetryRow[], old: number): string {
  const made = rows.filter(({ outcome }) => outcome === "retried");
  const states = made.flatMap(({ state }) => state ?? []);
  const others = rows.filter(({ outcome }) => outcome !== "retried");
  const rest = others.map(({ outcome, code }) => (code === undefined ? outcome : `${outcome} (${word(code)})`));
  const sentences = [
    `Retried ${made.length} of ${rows.length}${states.length > 0 ? `: ${countsOf(states)}` : ""}.`,
    ...(old > 0
      ? [`Not run again, since an identical call ran before: ${old === made.length ? "all" : old} of them.`]
      : []),
    ...(rest.length > 0 ? [`The others: ${countsOf(rest)}.`] : []),
  ];
  return sentences.join(" ");
}

export async function retryMany(
  args: RetryManyArguments,
  call: ToolCall,
  ports: JobPorts,
): Promise<ToolResult<RetryAnswer>> {
  const { timing } = ports.service;
  const startedAt = timing.now();
  const { jobIds, waitSeconds = PATIENT_SECONDS } = args;
  const all = await retryEach(args, call, ports, jobIds.length);
  const made = all.flatMap(({ row }) => (row.outcome === "retried" ? (row.newJobId ?? []) : []));
  const seconds = secondsLeft(waitSeconds, startedAt, timing);
  const isWaitedFor = made.length > 0 && waitSeconds > 0 && timeLeftMs(withTimeToAnswer(call.context), timing) > 0;
  const watched = isWaitedFor ? await watchJobs(made, { until: "all", seconds, done: jobIds.length }, call, ports) : [];
  const states = new Map(watched.flatMap(({ id, job }) => (job ? [[id, job.state] as const] : [])));
  const results = all.map(({ row }): RetryRow => {
    const state = row.newJobId === undefined ? undefined : states.get(row.newJobId);
    return state === undefined ? row : { ...row, state };
  });
  const moving = isWaitedFor ? movingIds(watched) : made;
  const step = nextStep(all, moving, args);
  const old = all.filter(({ isOld }) => isOld).length;
  const summary = summaryOf(results, old);
  const advice = { summary, ...(step && call.isOffered(step.tool) && { nextStep: step }) };
  const columns = ["jobId", "outcome", "newJobId", "state", "code", "idempotencyKey"] as const;
  const rows = results.map((row) => columns.map((column) => row[column] ?? ""));
  const answer = answerResult({ results }, { advice, body: table(columns, rows) });
  return old === all.length ? { ...answer, isReplay: true } : answer;
}

/** Reads the jobs that would be run anew, and makes one question of them all; undefined where none would be. */
async function askAboutAll(
  args: RetryManyArguments,
  call: ToolCall,
  ports: JobPorts,
): Promise<PreparedQuestion | undefined> {
  const context = withTimeToAnswer(call.context);
  const said = await eachOfMany(args.jobIds, async (jobId) => {
    if (await ports.actions.findKnown(actionOf(jobId, args))) return undefined;
    if (await whyNot(jobId, args, ports)) return undefined;
    try {
      const { state } = (await ports.service.call(getMicJob, { path: { jobId } }, context)).value.data;
      return `${word(jobId)} (${state})`;
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      // What is not there is not asked about: the service refuses it. What may not be read may still be run.
      return error.facts.kind === "not_found" ? undefined : word(jobId);
    }
  });
  if (said.length === 0) return undefined;
  const what = `Run ${said.length} ${said.length === 1 ? "job" : "jobs"} anew from the start?`;
  const text = `${what} The stages they have finished are thrown away: ${said.join(", ")}. The reason given: ${quote(args.reason)}`;
  return { text, resourceVersion: undefined };
}

/** What a person is asked, once for all, before any is run anew. */
export const confirmRestarts = (args: RetryManyArguments) =>
  args.retryMode === "RESTART"
    ? {
        actions: args.jobIds.map((jobId) => actionOf(jobId, args)),
        prepare: (call: ToolCall, ports: JobPorts) => askAboutAll(args, call, ports),
      }
    : undefined;
