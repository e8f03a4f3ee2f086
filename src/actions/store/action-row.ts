// This module defines an action as the journal stores it.
import * as z from "zod/v4";

export const ActionState = z.enum(["in_progress", "succeeded", "rejected", "unknown"]);
export type ActionState = z.infer<typeof ActionState>;

/** Prefix of an id that is stored as JSON. */
const AS_JSON = "\u001a";

/** Returns an id as a database can store it. The contract allows NUL and lone surrogates, which not every database accepts. */
export const toStoredId = (id: string): string =>
  id.startsWith(AS_JSON) || /[\0\p{Surrogate}]/u.test(id) ? AS_JSON + JSON.stringify(id) : id;

export const StoredId = z
  .string()
  .transform((stored) => (stored.startsWith(AS_JSON) ? String(JSON.parse(stored.slice(1))) : stored));

/**
 * One row of the journal. Times are milliseconds since 1970, by the database's clock if it has one.
 *
 * - `upstream_key`: the Idempotency-Key that the API receives; empty if it is `key`.
 * - `arguments`: canonical JSON of the first call's arguments (src/actions/canonical-json.ts).
 * - `fingerprint`, `about`: see src/actions/fingerprint.ts.
 * - `slot`: 1 in the only row that reserves the fingerprint for calls without a key, else 0.
 * - `indeterminate`: 1 if an attempt of an earlier claim may have taken effect without an answer.
 * - `resolved_at`: time at which the success was recorded; null in other states.
 * - `read_at`: time at which the row was read.
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
  read_at: z.int(),
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
  /** True if the caller named the key. The action then runs even if another one has the same fingerprint. */
  readonly isExplicit: boolean;
  readonly path: string;
  readonly ifMatch: string;
  readonly body: string;
}

/** The result of an attempt at an action, as the journal records it. */
export interface Resolution {
  readonly state: Exclude<ActionState, "in_progress">;
  readonly attempts: number;
  readonly outcome: string | undefined;
  readonly resourceId: string | undefined;
}
