// What an agent may see of the journal: its own memory after a crash, and the calls that settle what is not settled.
import { isGone } from "../owner.ts";
import { readCanonical } from "./canonical.ts";
import { ActionState, type Journal, type StoredAction } from "./journal.ts";
import { isRefused, readOutcome } from "./outcome.ts";

export interface ListedAction {
  readonly tool: string;
  readonly idempotencyKey: string;
  readonly state: ActionState;
  /** The id of what it made. */
  readonly resourceId?: string;
  readonly attempts: number;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** As the agent gave them. */
  readonly arguments: Readonly<Record<string, unknown>>;
  /** The id of what it acts on: the job, the file, the recipe version. */
  readonly about: string;
  /** Of a refusal. */
  readonly code?: string;
  /** Of one that is not settled: the complete call that settles it. */
  readonly nextStep?: {
    readonly tool: string;
    readonly arguments: Readonly<Record<string, unknown>>;
    readonly why: string;
  };
}

/** How many are listed unless another number is asked for. */
export const DEFAULT_LIMIT = 20;

const MAX_LOOKED_AT = 1_000;

/** An open action whose owner has died is unknown, even before another process has taken it over. */
export const stateNow = ({ state, owner, lease_until, looked_at }: StoredAction): ActionState =>
  state === "open" && (lease_until < looked_at || isGone(owner)) ? "unknown" : state;

const WHY: Readonly<Partial<Record<ActionState, string>>> = {
  open: "it is under way, or was left so; this waits for its outcome",
  unknown: "its outcome is unknown; this finds it out and cannot make it happen twice",
};

function codeOf({ state, outcome }: StoredAction): string | undefined {
  const read = state === "rejected" && outcome !== null ? readOutcome(outcome) : undefined;
  return read && "failure" in read ? read.failure.code : undefined;
}

/** Secrets are taken out of what is listed: with them missing, the key alone has to do. */
const repeatable = (args: ListedAction["arguments"], redact: (text: string) => string): ListedAction["arguments"] =>
  redact(JSON.stringify(args)) === JSON.stringify(args) ? args : {};

function nextStep(
  { tool, about, outcome }: StoredAction,
  state: ActionState,
  args: ListedAction["arguments"],
): Pick<ListedAction, "nextStep"> {
  if (state === "unknown" && tool === "cancel_job" && isRefused(outcome))
    return {
      nextStep: {
        tool: "get_job",
        arguments: { jobId: about },
        why: "the service refuses to cancel it at that version, again and again; the job shows whether it was cancelled",
      },
    };
  const why = WHY[state];
  return why === undefined ? {} : { nextStep: { tool, arguments: args, why } };
}

const IN_WORDS = ["open", "unknown", "rejected", "succeeded"] as const;

/** How many there are of each state. */
export function summaryOfActions(actions: readonly ListedAction[]): string {
  const counts = IN_WORDS.map((state) => [actions.filter((action) => action.state === state).length, state] as const);
  const said = counts.flatMap(([count, state]) => (count === 0 ? [] : [`${count} ${state}`]));
  return `${actions.length} ${actions.length === 1 ? "action" : "actions"}${said.length === 0 ? "" : `: ${said.join(", ")}`}.`;
}

export interface ListingOptions {
  /** Only its actions; undefined where none is configured. */
  readonly service: string | undefined;
  readonly state: ActionState | undefined;
  readonly limit: number;
  readonly redact: (text: string) => string;
}

function listed(stored: StoredAction, { redact }: ListingOptions): ListedAction {
  const { tool, key, resource_id } = stored;
  const state = stateNow(stored);
  const args = readCanonical(stored.arguments);
  const code = codeOf(stored);
  return {
    tool,
    idempotencyKey: key,
    state,
    ...(resource_id !== null && { resourceId: resource_id }),
    // One under way is not counted before it has ended.
    attempts: stored.attempts + (stored.state === "open" ? 1 : 0),
    createdAt: new Date(stored.created_at).toISOString(),
    updatedAt: new Date(stored.updated_at).toISOString(),
    about: stored.about,
    arguments: args,
    ...(code !== undefined && { code }),
    ...nextStep(stored, state, { ...repeatable(args, redact), idempotencyKey: key }),
  };
}

/** The latest actions first. */
export async function listActions(journal: Journal, options: ListingOptions): Promise<readonly ListedAction[]> {
  const { service, state, limit } = options;
  // What is unknown may still stand as open.
  const states =
    state === undefined ? ActionState.options : state === "unknown" ? (["unknown", "open"] as const) : [state];
  const found = await journal.list(service, states, state === undefined ? limit : MAX_LOOKED_AT);
  return found
    .map((stored) => listed(stored, options))
    .filter((action) => state === undefined || action.state === state)
    .slice(0, limit);
}
