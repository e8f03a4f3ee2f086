// The actions on one resource, and the action that made it, as the journal has them.
import { readCanonical } from "./canonical.ts";
import type { Arguments } from "./fingerprint.ts";
import type { ActionState, StoredAction } from "./journal.ts";
import { stateNow } from "./listing.ts";
import { isRefused } from "./outcome.ts";

export interface ActionAbout {
  readonly tool: string;
  readonly state: ActionState;
  readonly idempotencyKey: string;
  readonly arguments: Arguments;
  readonly sentAt: string;
  /** The id of the resource that it made. */
  readonly resourceId?: string;
  /** The API's last answer was a refusal that leaves open what an earlier attempt did; it most likely refuses again. */
  readonly isRefused: boolean;
}

export const actionAbout = (stored: StoredAction): ActionAbout => ({
  tool: stored.tool,
  state: stateNow(stored),
  idempotencyKey: stored.key,
  arguments: readCanonical(stored.arguments),
  sentAt: new Date(stored.created_at).toISOString(),
  isRefused: isRefused(stored.outcome),
  ...(stored.resource_id !== null && { resourceId: stored.resource_id }),
});
