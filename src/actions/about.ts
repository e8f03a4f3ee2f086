// What the journal knows about one job: an action on it of unknown outcome, and the action that made it.
import { readCanonical } from "./canonical.ts";
import type { Journal } from "./journal.ts";
import { stateNow } from "./listing.ts";

const MAX_LOOKED_AT = 1_000;

export interface UnsettledAction {
  readonly tool: string;
  readonly idempotencyKey: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly sentAt: string;
}

/** The latest action of unknown outcome whose request path starts with `path`. */
export async function unsettledAbout(
  journal: Journal,
  service: string,
  path: string,
  now: number,
): Promise<UnsettledAction | undefined> {
  const open = await journal.list(service, ["unknown", "open"], MAX_LOOKED_AT);
  const [latest] = open.filter((stored) => stored.path.startsWith(path) && stateNow(stored, now) === "unknown");
  return (
    latest && {
      tool: latest.tool,
      idempotencyKey: latest.key,
      arguments: readCanonical(latest.arguments),
      sentAt: new Date(latest.created_at).toISOString(),
    }
  );
}

/** The arguments of the action that made this resource, if it was one of ours. */
export async function createdBy(
  journal: Journal,
  service: string,
  resourceId: string,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  const succeeded = await journal.list(service, ["succeeded"], MAX_LOOKED_AT);
  const made = succeeded.find((stored) => stored.resource_id === resourceId);
  return made && readCanonical(made.arguments);
}
