// An action as the journal keeps it.
import * as z from "zod/v4";

export const ActionState = z.enum(["open", "succeeded", "rejected", "unknown"]);
export type ActionState = z.infer<typeof ActionState>;

/** Begins an id that is kept as JSON. */
const AS_JSON = "\u001a";

/** An id as a database can keep it: the contract lets ids hold what none takes, NUL and lone surrogates. */
export const keptId = (id: string): string =>
  id.startsWith(AS_JSON) || /[\0\p{Surrogate}]/u.test(id) ? AS_JSON + JSON.stringify(id) : id;

const KeptId = z.string().transform((kept) => (kept.startsWith(AS_JSON) ? String(JSON.parse(kept.slice(1))) : kept));

export const Stored = z.object({
  service: z.string(),
  key: z.string(),
  wire_key: z.string(),
  tool: z.string(),
  arguments: z.string(),
  path: z.string(),
  if_match: z.string(),
  body: z.string(),
  state: ActionState,
  in_doubt: z.int(),
  attempts: z.int(),
  owner: z.string(),
  lease_until: z.int(),
  outcome: z.string().nullable(),
  repeatable: z.int(),
  resource_id: KeptId.nullable(),
  created_at: z.int(),
  first_sent_at: z.int(),
  updated_at: z.int(),
  delivered_at: z.int().nullable(),
  subject_hash: z.string(),
  about: KeptId,
  looked_at: z.int(),
});

/**
 * One action as it stands in the journal. Times are milliseconds since 1970, by the database's clock where it has one. `wire_key`: empty
 * where the service knows it by `key`. `looked_at`: when this was so.
 */
export type StoredAction = z.infer<typeof Stored>;

export interface NewAction {
  readonly service: string;
  readonly key: string;
  /** The key on the wire, where that is another. */
  readonly wireKey?: string | undefined;
  readonly tool: string;
  readonly arguments: string;
  readonly subjectHash: string;
  readonly workHash: string;
  readonly about: string;
  readonly explicit: boolean;
  readonly path: string;
  readonly ifMatch: string;
  readonly body: string;
  readonly bodyHash: string;
}

export interface Settlement {
  readonly state: Exclude<ActionState, "open">;
  readonly attempts: number;
  readonly outcome: string | undefined;
  /** Nothing happened and nothing was decided: the same bytes may be sent again. */
  readonly repeatable: boolean;
  readonly resourceId: string | undefined;
}
