// What an agent may see of the journal: its own memory after a crash. Never a body.

import { isGone } from "../owner.ts";
import { ActionState, type Journal, type StoredAction } from "./journal.ts";

export interface ListedAction {
  readonly tool: string;
  readonly idempotencyKey: string;
  readonly state: ActionState;
  readonly resourceId?: string;
  readonly attempts: number;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** How many are listed unless another number is asked for. */
export const DEFAULT_LIMIT = 20;

const MAX_LOOKED_AT = 1_000;

/** An open action whose owner has died is unknown, whoever comes to look first. */
export const stateNow = ({ state, owner, lease_until }: StoredAction, now: number): ActionState =>
  state === "open" && (lease_until < now || isGone(owner)) ? "unknown" : state;

const listed = (stored: StoredAction, now: number): ListedAction => ({
  tool: stored.tool,
  idempotencyKey: stored.key,
  state: stateNow(stored, now),
  ...(stored.resource_id !== null && { resourceId: stored.resource_id }),
  // One under way is not counted before it has ended.
  attempts: stored.attempts + (stored.state === "open" ? 1 : 0),
  createdAt: new Date(stored.created_at).toISOString(),
  updatedAt: new Date(stored.updated_at).toISOString(),
});

/** The latest actions first, of one state or of all; of one service, or of all where there is none configured. */
export async function listActions(
  journal: Journal,
  {
    service,
    state,
    limit,
    now,
  }: { service: string | undefined; state: ActionState | undefined; limit: number; now: number },
): Promise<readonly ListedAction[]> {
  // What is unknown may still stand as open.
  const states =
    state === undefined ? ActionState.options : state === "unknown" ? (["unknown", "open"] as const) : [state];
  const found = await journal.list(service, states, state === undefined ? limit : MAX_LOOKED_AT);
  return found
    .map((stored) => listed(stored, now))
    .filter((action) => state === undefined || action.state === state)
    .slice(0, limit);
}
