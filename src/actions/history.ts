// What the journal knows about one resource: the actions on it, and the action that made it.
import { readCanonical } from "./canonical.ts";
import type { ActionState, Journal, StoredAction } from "./journal.ts";
import { stateNow } from "./listing.ts";
import { isRefused } from "./outcome.ts";

export interface ActionAbout {
  readonly tool: string;
  readonly state: ActionState;
  readonly idempotencyKey: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly sentAt: string;
  /** What it made. */
  readonly resourceId?: string;
  /** The service's last word was a refusal that leaves open what an earlier attempt did; it most likely says so again. */
  readonly isRefused: boolean;
}

const about = (stored: StoredAction): ActionAbout => ({
  tool: stored.tool,
  state: stateNow(stored),
  idempotencyKey: stored.key,
  arguments: readCanonical(stored.arguments),
  sentAt: new Date(stored.created_at).toISOString(),
  isRefused: isRefused(stored.outcome),
  ...(stored.resource_id !== null && { resourceId: stored.resource_id }),
});

/** The actions on a resource: what is not settled first, then what succeeded; the latest first. */
export const actionsAbout = async (
  journal: Journal,
  service: string,
  resourceId: string,
): Promise<readonly ActionAbout[]> => (await journal.findAbout(service, resourceId)).map(about);

/** The arguments of the action that made this resource, if it was one of ours. */
export async function createdBy(
  journal: Journal,
  service: string,
  resourceId: string,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  const made = await journal.findByResource(service, resourceId);
  return made && readCanonical(made.arguments);
}
