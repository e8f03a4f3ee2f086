// This module lists the journal for agents and users: unresolved actions with the calls that resolve them, and the latest actions.
import * as z from "zod/v4";
import { isOwnerDead } from "../core/owner.ts";
import { isTooOldToResend, laterSuccessesSql } from "./deduplication-window.ts";
import { parseCanonicalArguments } from "./fingerprint.ts";
import type { Journal } from "./journal.ts";
import { ActionState, failureFrom, type StoredAction } from "./store/action-row.ts";

export interface ListedAction {
  readonly tool: string;
  readonly idempotencyKey: string;
  readonly state: ActionState;
  /** The id of the resource that the action created. */
  readonly resourceId?: string;
  readonly attempts: number;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** The arguments as the agent passed them. */
  readonly arguments: Readonly<Record<string, unknown>>;
  /** The id of the resource that the action acts on: the job, the file, the recipe version. */
  readonly about: string;
  /** The API's problem code, if it was rejected. */
  readonly code?: string;
  /**
   * False if the action is unresolved and no call can resolve it. It is too old to be sent again, and reading does not show its
   * outcome.
   */
  readonly resolvable?: false;
  /** Key of a later identical action that succeeded, if this one is unresolved. */
  readonly supersededBy?: string;
  /** The complete call that resolves it. */
  readonly nextStep?: {
    readonly tool: "resolve_actions";
    readonly arguments: Readonly<Record<string, unknown>>;
    readonly why: string;
  };
}

/** Unresolved actions come first, oldest first; the others follow, latest first. */
export interface ActionList {
  readonly actions: readonly ListedAction[];
  /** Number of actions in each state, including those that are not listed. */
  readonly counts: Readonly<Record<ActionState, number>>;
}

/** Number of resolved actions that are listed by default. */
export const DEFAULT_LIMIT = 20;

const MAX_UNRESOLVED = 1_000;

/** The tools whose old actions can be resolved by reading the job. */
export const RESOLVED_BY_READING: ReadonlySet<string> = new Set(["cancel_job", "retry_job"]);

/**
 * An action in progress whose owner is dead or whose lease has expired has an unknown outcome, even before another process takes
 * it over.
 */
const effectiveState = ({ state, owner, lease_until, read_at }: StoredAction): ActionState =>
  state === "in_progress" && (lease_until < read_at || isOwnerDead(owner)) ? "unknown" : state;

export function toListedAction(stored: StoredAction): ListedAction {
  const { tool, key, resource_id } = stored;
  const code = stored.state === "rejected" ? failureFrom(stored.outcome)?.code : undefined;
  return {
    tool,
    idempotencyKey: key,
    state: effectiveState(stored),
    ...(resource_id !== null && { resourceId: resource_id }),
    // The journal counts an attempt only when it has ended.
    attempts: stored.attempts + (stored.state === "in_progress" ? 1 : 0),
    createdAt: new Date(stored.created_at).toISOString(),
    updatedAt: new Date(stored.updated_at).toISOString(),
    about: stored.about,
    arguments: parseCanonicalArguments(stored.arguments),
    ...(code !== undefined && { code }),
  };
}

const UnresolvedRow = z.object({ superseded_by: z.string().nullable() });

/** Returns the unresolved actions of one service, or of all services, oldest first, each with the key of the action that supersedes it. */
async function queryUnresolved({ query, columns, read }: Journal, service: string | undefined) {
  const rows = await query(
    `SELECT ${columns}, (SELECT MAX(later.key) ${laterSuccessesSql("a")}) AS superseded_by FROM actions AS a
     WHERE a.state IN ('in_progress', 'unknown') ${service === undefined ? "" : "AND a.service = $2"} ORDER BY a.created_at LIMIT $1`,
    [MAX_UNRESOLVED, ...(service === undefined ? [] : [service])],
  );
  return rows.map((row) => ({ action: read(row), supersededBy: UnresolvedRow.parse(row).superseded_by }));
}

const NEXT_STEP_REASONS: Readonly<Partial<Record<ActionState, string>>> = {
  in_progress: "it is in progress; this waits for its outcome",
  unknown: "its outcome is unknown; this finds it out, and the action never runs twice",
};

function toListedUnresolved({
  action,
  supersededBy,
}: Awaited<ReturnType<typeof queryUnresolved>>[number]): ListedAction {
  const shown = toListedAction(action);
  if (supersededBy !== null) return { ...shown, supersededBy };
  if (isTooOldToResend(action, action.read_at) && !RESOLVED_BY_READING.has(action.tool))
    return { ...shown, resolvable: false };
  const why = NEXT_STEP_REASONS[shown.state];
  const call = { tool: "resolve_actions", arguments: { idempotencyKey: shown.idempotencyKey } } as const;
  return why === undefined ? shown : { ...shown, nextStep: { ...call, why } };
}

const toActionStatus = (stored: StoredAction, shown: ListedAction) => ({
  ...shown,
  /** Milliseconds since 1970. */
  firstSentAt: stored.first_sent_at,
  /** The API may have forgotten its key, so it is not sent again. */
  isTooOld: isTooOldToResend(stored, stored.read_at),
});
/** The current state of an action, with the time that its resolution depends on. */
export type ActionStatus = ReturnType<typeof toActionStatus>;

/** Returns the unresolved actions of one service, oldest first. Throws Failure if the journal cannot be used. */
export const listUnresolvedActions = async (journal: Journal, service: string): Promise<readonly ActionStatus[]> =>
  (await queryUnresolved(journal, service)).map((found) => toActionStatus(found.action, toListedUnresolved(found)));

/** Returns the action with this key; undefined if there is none. Throws Failure if the journal cannot be used. */
export async function findAction(journal: Journal, service: string, key: string): Promise<ActionStatus | undefined> {
  const stored = await journal.find(service, key);
  return stored && toActionStatus(stored, toListedAction(stored));
}

export interface ListingOptions {
  /** Lists only the actions of this service; undefined, if no service is configured, lists those of all. */
  readonly service: string | undefined;
  readonly state: ActionState | undefined;
  /** Maximum number of listed actions. Without `state`, unresolved actions are not counted and always listed. */
  readonly limit: number;
}

/** Returns the latest actions in these states, latest first. */
async function queryLatest(
  { query, columns, read }: Journal,
  states: readonly ActionState[],
  { service, limit }: ListingOptions,
): Promise<readonly StoredAction[]> {
  const serviceCondition = service === undefined ? "" : "AND service = $2";
  // A query for one state reads an index in its order; for several states, the database would sort all their rows.
  const found = await Promise.all(
    states.map((state) =>
      query(
        `SELECT ${columns} FROM actions WHERE state = '${state}' ${serviceCondition} ORDER BY updated_at DESC LIMIT $1`,
        [limit, ...(service === undefined ? [] : [service])],
      ),
    ),
  );
  return found
    .flatMap((rows) => rows.map(read))
    .sort((one, other) => other.updated_at - one.updated_at || other.created_at - one.created_at)
    .slice(0, limit);
}

const CountRow = z.object({ state: ActionState, count: z.coerce.number() });

async function queryCounts({ query }: Journal, service: string | undefined): Promise<ReadonlyMap<ActionState, number>> {
  const serviceCondition = service === undefined ? "" : "WHERE service = $1";
  const sql = `SELECT state, COUNT(*) AS count FROM actions ${serviceCondition} GROUP BY state`;
  const rows = await query(sql, service === undefined ? [] : [service]);
  return new Map(rows.map((row) => CountRow.parse(row)).map(({ state, count }) => [state, count]));
}

/** Lists actions, and counts those in each state. Throws Failure if the journal cannot be used. */
export async function listActions(journal: Journal, options: ListingOptions): Promise<ActionList> {
  const { service, state, limit } = options;
  const [rows, recorded, others] = await Promise.all([
    queryUnresolved(journal, service),
    queryCounts(journal, service),
    queryLatest(journal, state === undefined ? ["succeeded", "rejected"] : [state], options),
  ]);
  const unresolved = rows.map(toListedUnresolved);
  const count = (of: ActionState): number => recorded.get(of) ?? 0;
  const unknown = unresolved.filter((action) => action.state === "unknown").length;
  const more = Math.max(0, count("unknown") + count("in_progress") - unresolved.length);
  const counts = {
    in_progress: unresolved.length - unknown,
    unknown: unknown + more,
    rejected: count("rejected"),
    succeeded: count("succeeded"),
  };
  if (state === "in_progress" || state === "unknown")
    return { actions: unresolved.filter((action) => action.state === state).slice(0, limit), counts };
  const resolved = others.map(toListedAction);
  return { actions: state === undefined ? [...unresolved, ...resolved] : resolved, counts };
}

const JobRow = z.object({ job: z.string() });

/** Returns the ids of the jobs that were created last, of all services, latest first. Throws Failure if the journal cannot be used. */
export async function listRecentJobs({ query }: Journal, limit: number): Promise<readonly string[]> {
  const rows = await query(
    `SELECT resource_id AS job FROM actions WHERE state = 'succeeded' AND tool IN ('submit_job', 'retry_job')
     AND resource_id IS NOT NULL ORDER BY updated_at DESC LIMIT $1`,
    [limit],
  );
  return rows.map((row) => JobRow.parse(row).job);
}

export interface UnresolvedCounts {
  /** Actions in progress in a live process. */
  readonly inProgress: number;
  /** Actions that may have taken effect. */
  readonly unknown: number;
}

const UnresolvedCountRow = z.object({ owner: z.string(), count: z.coerce.number() });

/** Counts the unresolved actions of all callers. Throws Failure if the journal cannot be used. */
export async function countUnresolved({ query, timeSql, now }: Journal): Promise<UnresolvedCounts> {
  // An action in progress counts by its owner, who may be dead; an expired or an unknown one has none.
  const rows = await query(
    `SELECT owner, COUNT(*) AS count FROM
       (SELECT CASE WHEN state = 'in_progress' AND lease_until >= ${timeSql("$1")} THEN owner ELSE '' END AS owner
        FROM actions WHERE state IN ('in_progress', 'unknown')) AS unresolved GROUP BY owner`,
    [now()],
  );
  const counts = { inProgress: 0, unknown: 0 };
  for (const { owner, count } of rows.map((row) => UnresolvedCountRow.parse(row)))
    counts[owner === "" || isOwnerDead(owner) ? "unknown" : "inProgress"] += count;
  return counts;
}

const ServiceName = z.tuple([z.string(), z.string()]);

/** Returns base URL and client id. */
export const parseServiceName = (service: string) => ServiceName.parse(JSON.parse(service));

const ServiceCountRow = z.object({ service: z.string(), count: z.coerce.number() });

/** Counts the unresolved actions of each client. Throws Failure if the journal cannot be used. */
export async function countUnresolvedByClient({ query }: Journal) {
  const rows = await query(
    "SELECT service, COUNT(*) AS count FROM actions WHERE state IN ('in_progress', 'unknown') GROUP BY service ORDER BY MIN(created_at)",
  );
  return rows.map((row) => {
    const { service, count } = ServiceCountRow.parse(row);
    const [baseUrl, clientId] = parseServiceName(service);
    return { baseUrl, clientId, count };
  });
}

/** Returns a sentence such as "134 actions: 1 unknown, 3 rejected, 130 succeeded." */
export function summarizeCounts(counts: ActionList["counts"]): string {
  const all = ActionState.options.reduce((sum, state) => sum + counts[state], 0);
  const shown = (["in_progress", "unknown", "rejected", "succeeded"] as const).flatMap((state) =>
    counts[state] === 0 ? [] : [`${counts[state]} ${state.replace("_", " ")}`],
  );
  return `${all} ${all === 1 ? "action" : "actions"}${shown.length === 0 ? "" : `: ${shown.join(", ")}`}.`;
}

/** Returns a text such as "134 actions: 1 unknown, 133 succeeded. The latest 20 follow." `state`: the only state that was listed. */
export function summarizeList({ actions, counts }: ActionList, state: ActionState | undefined): string {
  const isResolved = ({ state: each }: ListedAction): boolean => each === "succeeded" || each === "rejected";
  const shown = state === undefined ? actions.filter(isResolved).length : actions.length;
  const all = state === undefined ? counts.succeeded + counts.rejected : counts[state];
  const text = summarizeCounts(counts);
  if (all <= shown) return text;
  // Unresolved actions are listed oldest first.
  const which = state === "unknown" || state === "in_progress" ? "first" : "latest";
  return `${text} The ${which} ${shown}${state === undefined ? "" : ` ${state.replace("_", " ")}`} follow.`;
}

/** Formats the state as a table cell, such as "unknown, not resolvable". */
export function formatState({ state, resolvable, supersededBy }: ListedAction): string {
  if (resolvable === false) return `${state}, not resolvable`;
  return supersededBy === undefined ? state : `${state}, superseded by ${supersededBy}`;
}
