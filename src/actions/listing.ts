// This module lists the journal for agents and users: unresolved actions with the calls that resolve them, and the latest actions.
import { isOwnerDead } from "../core/owner.ts";
import { forReader, join, own, say, type Text } from "../core/text.ts";
import { ActionState, failureFrom, findingOf, type StoredAction } from "./action-row.ts";
import { isTooOldToResend, journalAgeMs } from "./deduplication-window.ts";
import { parseCanonicalArguments } from "./fingerprint.ts";
import type { Journal } from "./journal.ts";

export interface ListedAction {
  readonly tool: string;
  readonly idempotencyKey: string;
  readonly state: ActionState;
  /** The id of the resource that the action created. */
  readonly createdId?: string;
  /** Number of requests under its key. */
  readonly timesSent: number;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** The arguments as the agent passed them. */
  readonly arguments: Readonly<Record<string, unknown>>;
  /** The id of the resource that the action acts on: the job, the file, the recipe version. */
  readonly targetId: string;
  /** The API's problem code, if it was rejected. */
  readonly code?: string;
  /** False if the action is unresolved, too old to be sent again, and reading does not show its outcome either. */
  readonly resolvable?: false;
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

/** The tools whose old actions may be resolved by reading jobs. */
export const RESOLVED_BY_READING: ReadonlySet<string> = new Set(["cancel_job", "retry_job", "submit_job"]);

/** An action in progress whose owner is dead or whose lease has expired has an unknown outcome, even before a takeover. */
const effectiveState = ({ state, owner, lease_until, read_at }: StoredAction): ActionState =>
  state === "in_progress" && (lease_until < read_at || isOwnerDead(owner)) ? "unknown" : state;

export function toListedAction(stored: StoredAction): ListedAction {
  const { tool, key, resource_id } = stored;
  const code = stored.state === "rejected" ? failureFrom(stored.outcome)?.code : undefined;
  return {
    tool,
    idempotencyKey: key,
    state: effectiveState(stored),
    ...(resource_id !== null && { createdId: resource_id }),
    // The journal counts an attempt only when it has ended.
    timesSent: stored.attempts + (stored.state === "in_progress" ? 1 : 0),
    createdAt: new Date(stored.created_at).toISOString(),
    updatedAt: new Date(stored.updated_at).toISOString(),
    targetId: stored.about,
    arguments: parseCanonicalArguments(stored.arguments),
    code,
  };
}

const NEXT_STEP_REASONS: Readonly<Partial<Record<ActionState, string>>> = {
  in_progress: "it is in progress; this waits for its outcome",
  unknown: "its outcome is unknown; this finds it out, and the action never runs twice",
};

const OLD_SUBMISSION = "its outcome is unknown; this finds the jobs that it may have made";

function toListedUnresolved(action: StoredAction): ListedAction {
  const shown = toListedAction(action);
  const isTooOld = isTooOldToResend(journalAgeMs(action));
  if (isTooOld && !RESOLVED_BY_READING.has(action.tool)) return { ...shown, resolvable: false };
  // Only the user can decide which job an old submission made.
  const why = isTooOld && action.tool === "submit_job" ? OLD_SUBMISSION : NEXT_STEP_REASONS[shown.state];
  const call = { tool: "resolve_actions", arguments: { idempotencyKey: shown.idempotencyKey } } as const;
  return why === undefined ? shown : { ...shown, nextStep: { ...call, why } };
}

const toActionStatus = (stored: StoredAction, shown: ListedAction) => ({
  ...shown,
  /** Milliseconds since 1970. */
  firstSentAt: stored.first_sent_at,
  /** Time of the first attempt by the API's clock, in milliseconds since 1970; null if that clock was not known. */
  firstSentApiAt: stored.first_sent_api_at,
  /** Milliseconds between the first attempt and the start or end of the latest one. */
  attemptsMs: Math.max(0, stored.updated_at - stored.first_sent_at),
  /** Milliseconds since the start or end of the latest attempt. */
  idleMs: stored.read_at - stored.updated_at,
  /** The result of reading or of the user's decision, if no response shows the outcome. */
  finding: findingOf(stored),
  /** The API may have forgotten its key, so it is not sent again. */
  isTooOld: isTooOldToResend(journalAgeMs(stored)),
});
/** The current state of an action, with the time that its resolution depends on. */
export type ActionStatus = ReturnType<typeof toActionStatus>;

/** Returns the unresolved actions of one service, oldest first. Throws Failure if the journal cannot be used. */
export const listUnresolvedActions = async (journal: Journal, service: string): Promise<readonly ActionStatus[]> =>
  (await journal.listUnresolved(service)).map((action) => toActionStatus(action, toListedUnresolved(action)));

/** Returns the action with this key; undefined if there is none. Throws Failure if the journal cannot be used. */
export async function findListedAction(
  journal: Journal,
  service: string,
  key: string,
): Promise<ActionStatus | undefined> {
  const stored = await journal.find(service, key);
  return stored && toActionStatus(stored, toListedAction(stored));
}

export interface ListingOptions {
  /** The service whose actions are listed; undefined if none is configured: the actions of all services. */
  readonly service: string | undefined;
  readonly state: ActionState | undefined;
  /** Maximum number of listed actions. Without `state`, it limits only resolved actions: unresolved ones are always listed. */
  readonly limit: number;
}

/** Lists actions, and counts those in each state. Throws Failure if the journal cannot be used. */
export async function listActions(journal: Journal, { service, state, limit }: ListingOptions): Promise<ActionList> {
  const [rows, recorded, others] = await Promise.all([
    journal.listUnresolved(service),
    journal.countByState(service),
    journal.listLatest(state === undefined ? ["succeeded", "rejected"] : [state], service, limit),
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

/** A sentence such as "134 actions: 1 unknown, 3 rejected, 130 succeeded." */
export function summarizeCounts(counts: ActionList["counts"]): Text {
  const all = ActionState.options.reduce((sum, state) => sum + counts[state], 0);
  const shown = (["in_progress", "unknown", "rejected", "succeeded"] as const).map(
    (state) => counts[state] > 0 && say`${counts[state]} ${own(state === "in_progress" ? "in progress" : state)}`,
  );
  return say`${all} ${own(all === 1 ? "action" : "actions")}${all > 0 && say`: ${join(shown, ", ")}`}.`;
}

/** "1 unresolved action belongs to another client id or base URL: tell the user."; undefined if there is none. */
export const otherClientsText = (count: number): Text | undefined =>
  count === 0
    ? undefined
    : say`${count} unresolved ${own(count === 1 ? "action belongs" : "actions belong")} to another client id or base URL${forReader(": tell the user", "")}.`;

function summarizeListed({ actions, counts }: ActionList, state: ActionState | undefined): Text {
  const isResolved = ({ state: each }: ListedAction): boolean => each === "succeeded" || each === "rejected";
  const shown = state === undefined ? actions.filter(isResolved).length : actions.length;
  const all = state === undefined ? counts.succeeded + counts.rejected : counts[state];
  if (all <= shown) return summarizeCounts(counts);
  // Unresolved actions are listed oldest first.
  const which = own(state === "unknown" || state === "in_progress" ? "first" : "latest");
  const kind = own(state === undefined ? "resolved" : state === "in_progress" ? "in progress" : state);
  return say`${summarizeCounts(counts)} Listed: the ${which} ${shown} ${kind}.`;
}

/**
 * Returns a text such as "134 actions: 1 unknown, 133 succeeded. Listed: the latest 20 resolved." `state`: the only state that was listed.
 * `others`: the number of unresolved actions of other clients.
 */
export const summarizeList = (list: ActionList, state: ActionState | undefined, others: number): Text =>
  join([summarizeListed(list, state), otherClientsText(others)]);

/** Formats the state as a table cell, such as "unknown, not resolvable". */
export const formatState = ({ state, resolvable }: ListedAction): string =>
  resolvable === false ? `${state}, not resolvable` : state;
