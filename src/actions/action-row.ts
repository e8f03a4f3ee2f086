// This module defines an action as the journal stores it, and converts its outcome (a response or a failure) to text and back.
import { parse, stringify } from "lossless-json";
import * as z from "zod/v4";
import { parseExactNumber } from "../api-client/parse-json.ts";
import { FieldError } from "../contract/problem.ts";
import { FAILURE_KINDS, type Failure, type FailureReport } from "../core/failure.ts";

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
 * - `arguments`: canonical JSON of the first call's arguments (src/actions/fingerprint.ts).
 * - `fingerprint`, `bound_fingerprint`, `about` (the target): see src/actions/fingerprint.ts.
 * - `slot`: 1 in the only row that reserves the fingerprint for calls without a key, else 0.
 * - `indeterminate`: 1 if an attempt of an earlier claim may have taken effect without an answer.
 * - `first_sent_api_at`: time of the first attempt by the API's clock; null if that clock was not known.
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
  bound_fingerprint: z.string().nullable(),
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
  first_sent_api_at: z.int().nullable(),
  updated_at: z.int(),
  resolved_at: z.int().nullable(),
  read_at: z.int(),
});
export type StoredAction = z.infer<typeof ActionRow>;

export interface NewAction {
  readonly service: string;
  readonly key: string;
  /** The Idempotency-Key that the API receives, if it is not `key`. */
  readonly upstreamKey?: string;
  readonly tool: string;
  readonly arguments: string;
  readonly fingerprint: string;
  readonly boundFingerprint: string | null;
  readonly targetId: string;
  /** True if the caller named the key. The action then runs even if another one has the same fingerprint. */
  readonly isExplicit: boolean;
  readonly path: string;
  readonly ifMatch: string;
  readonly body: string;
  /** The current time by the API's clock, in milliseconds since 1970, if it is known. */
  readonly apiNow?: number;
}

/** The result of an attempt at an action, as the journal records it. */
export interface Resolution {
  readonly state: Exclude<ActionState, "in_progress">;
  readonly attempts: number;
  readonly outcome: string | undefined;
  readonly createdId: string | undefined;
  /** The current time by the API's clock, in milliseconds since 1970, if it is known. */
  readonly apiNow?: number;
}

// An optional fact that is absent must stay absent and not become undefined.
const Facts = z.object({
  kind: z.enum(FAILURE_KINDS),
  message: z.string(),
  status: z.int().exactOptional(),
  code: z.string().exactOptional(),
  requestId: z.string().exactOptional(),
  retryable: z.boolean(),
  sideEffect: z.enum(["none", "done", "unknown"]),
  idempotencyKey: z.string().exactOptional(),
  retryAfterSeconds: z.number().exactOptional(),
  fieldErrors: z.array(FieldError).exactOptional(),
  next: z.string().exactOptional(),
});

const finding = z.string().exactOptional();
const ActionOutcome = z.union([
  z.object({ finding, value: z.unknown(), drift: z.array(z.string()) }),
  z.object({ finding, failure: Facts }),
]);
/** `finding`: the result of reading or of the user's decision, if no response of the API to this action shows the outcome. */
export type ActionOutcome = { readonly finding?: string } & (
  | { readonly value: unknown; readonly drift: readonly string[] }
  | { readonly failure: FailureReport }
);

/** The start of the stored text of an outcome that no response shows. It identifies such a text without parsing. */
const FINDING = '{"finding":';

export const stringifyOutcome = ({ finding, ...outcome }: ActionOutcome): string =>
  stringify(finding === undefined ? outcome : { finding, ...outcome }) ?? "";

/** True if the API's response shows that this action created the resource of its row. */
export const isConfirmedCreator = ({ outcome }: Pick<StoredAction, "outcome">): boolean =>
  !outcome?.startsWith(FINDING);

/** Parses a text that `stringifyOutcome` returned. Throws for any other text. */
export const parseOutcome = (text: string): ActionOutcome => ActionOutcome.parse(parse(text, null, parseExactNumber));

/** Returns the finding in a stored outcome; undefined if a response shows the outcome. */
export const findingOf = (stored: Pick<StoredAction, "outcome">): string | undefined =>
  stored.outcome === null || isConfirmedCreator(stored) ? undefined : parseOutcome(stored.outcome).finding;

export function stateAfterFailure({ facts }: Failure): Resolution["state"] {
  if (facts.sideEffect === "unknown") return "unknown";
  // "done": the action took effect, although its response could not be read.
  return facts.sideEffect === "done" ? "succeeded" : "rejected";
}

/** Returns the failure in a stored outcome; undefined if it has none. */
export function failureFrom(outcome: string | null): FailureReport | undefined {
  const result = outcome === null ? undefined : parseOutcome(outcome);
  return result && "failure" in result ? result.failure : undefined;
}
