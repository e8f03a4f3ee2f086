// An action as the journal keeps it.
import * as z from "zod/v4";

export const ActionState = z.enum(["in_progress", "succeeded", "rejected", "unknown"]);
export type ActionState = z.infer<typeof ActionState>;

/** Marks an id that is kept as JSON. */
const AS_JSON = "\u001a";

/** An id as a database can keep it: the contract allows ids that no database accepts, with NUL and lone surrogates. */
export const toStoredId = (id: string): string =>
  id.startsWith(AS_JSON) || /[\0\p{Surrogate}]/u.test(id) ? AS_JSON + JSON.stringify(id) : id;

const StoredId = z
  .string()
  .transform((stored) => (stored.startsWith(AS_JSON) ? String(JSON.parse(stored.slice(1))) : stored));

/**
 * One row of the journal. Times are milliseconds since 1970, by the database's clock if it has one.
 *
 * - `upstream_key`: the Idempotency-Key that the API receives; empty if it is `key`.
 * - `arguments`: of the first call, as src/actions/canonical-json.ts writes them. `fingerprint`, `about`: src/actions/fingerprint.ts.
 * - `slot`: 1 in the one row that holds the fingerprint for calls without a key, else 0.
 * - `indeterminate`: 1 if an attempt of an earlier claim may have taken effect without an answer.
 * - `resolved_at`: when its success was recorded; null in other states.
 * - `looked_at`: when the row was read.
 */
export const ActionRow = z.object({
  service: z.string(),
  key: z.string(),
  upstream_key: z.string(),
  tool: z.string(),
  arguments: z.string(),
  fingerprint: z.string(),
  about: StoredId,
  path: z.string(),
  if_match: z.string(),
  body: z.string(),
  state: ActionState,
  indeterminate: z.int(),
  attempts: z.int(),
  owner: z.string(),
  lease_until: z.int(),
  outcome: z.string().nullable(),
  resource_id: StoredId.nullable(),
  created_at: z.int(),
  first_sent_at: z.int(),
  updated_at: z.int(),
  resolved_at: z.int().nullable(),
  looked_at: z.int(),
});
export type StoredAction = z.infer<typeof ActionRow>;

export interface NewAction {
  readonly service: string;
  readonly key: string;
  /** The Idempotency-Key that the API receives, if it is not `key`. */
  readonly upstreamKey?: string | undefined;
  readonly tool: string;
  readonly arguments: string;
  readonly fingerprint: string;
  readonly about: string;
  /** The caller named the key: the action runs whatever else has the same fingerprint. */
  readonly isExplicit: boolean;
  readonly path: string;
  readonly ifMatch: string;
  readonly body: string;
}

/** How an attempt at an action ended. */
export interface Resolution {
  readonly state: Exclude<ActionState, "in_progress">;
  readonly attempts: number;
  readonly outcome: string | undefined;
  readonly resourceId: string | undefined;
}
