// Determines the exit code of a tool call from its result (docs/use/automate-retries.md, "Exit codes").
import type { Arguments } from "../actions/fingerprint.ts";
import { JobState } from "../contract/jobs.ts";
import { isJsonObject, type JsonObject } from "../contract/json.ts";
import type { ToolName } from "../core/tool-names.ts";
import { LONG_WAIT_SECONDS } from "../toolkit/arguments.ts";
import type { Tool } from "../toolkit/define-tool.ts";
import { TERMINAL_STATES } from "../toolkit/describe/job.ts";

/** Nothing was sent, because an identical call ran before. */
const REPLAY = 3;
/** A job ended FAILED or CANCELLED, no job was submitted, or an outcome stays unknown. */
export const UNSUCCESSFUL = 5;
/** A job, a scan or an action is not finished. */
export const UNFINISHED = 6;

/** The tools whose results decide about the exit code, and the seconds that each waits by default. */
const DEFAULT_WAIT_SECONDS: Readonly<Partial<Record<ToolName, number>>> = {
  run_job: LONG_WAIT_SECONDS,
  run_jobs: LONG_WAIT_SECONDS,
  retry_jobs: LONG_WAIT_SECONDS,
  cancel_jobs: LONG_WAIT_SECONDS,
  wait_for_jobs: LONG_WAIT_SECONDS,
  submit_job: 0,
  retry_job: 0,
  get_job: 0,
  resolve_actions: LONG_WAIT_SECONDS,
};

/** States and outcomes of success. "rejected" is a resolved action; a rejected retry has a code instead. */
const SUCCESSFUL: ReadonlySet<string> = new Set(["SUCCEEDED", "resolved", "rejected"]);
/** Those of a job that was to be canceled. */
const CANCELED: ReadonlySet<string> = new Set(["CANCELLED", "ALREADY_CANCELLED"]);
/** States of a row for which the next identical call submits the job, and outcomes of actions that this call may resolve. */
const CONTINUABLE: ReadonlySet<string> = new Set([
  ...["WAITING_SCAN", "NOT_READ", "not sent", "requested"],
  ...["still unknown", "in progress"],
]);

const isUnended = (state: string): boolean => JobState.safeParse(state).success && !TERMINAL_STATES.has(state);

/** Returns the state of each job or input in the result; for a row without a state, its code or its outcome. */
function statesOf({ data, results, jobs, retries, notSent }: JsonObject): readonly string[] {
  const rows = [data, results, jobs, retries, notSent && { outcome: "not sent" }].flat().filter(isJsonObject);
  return rows.map(({ state, code, outcome }) => String(state ?? code ?? outcome));
}

/** Returns 5 if a job was not successful, 6 if one is not finished, 3 for a replay, else 0. Calls of other tools return 3 or 0. */
export function exitCodeOfResult(
  { name, effect, toExact }: Pick<Tool, "name" | "effect" | "toExact">,
  args: Arguments,
  structured: object,
  isReplay = false,
): number {
  const otherwise = isReplay ? REPLAY : 0;
  const defaultSeconds = DEFAULT_WAIT_SECONDS[name];
  if (defaultSeconds === undefined || !isJsonObject(structured)) return otherwise;
  const isWait = Number(toExact(args).arguments["waitSeconds"] ?? defaultSeconds) > 0;
  // A job that is only read, or only submitted, may be in any state.
  if (!isWait && effect === "read") return otherwise;
  const states = statesOf(structured);
  const successful = name === "cancel_jobs" ? CANCELED : SUCCESSFUL;
  if (!states.every((state) => successful.has(state) || CONTINUABLE.has(state) || isUnended(state)))
    return UNSUCCESSFUL;
  // retry_jobs selects a limited number of jobs.
  const isLimited =
    name === "retry_jobs" && isJsonObject(structured["nextStep"]) && structured["nextStep"]["tool"] === name;
  const isUnfinished = states.some((state) => CONTINUABLE.has(state) || (isWait && isUnended(state)));
  return isLimited || isUnfinished ? UNFINISHED : otherwise;
}
