// This module converts the outcome of an action (a response or a failure) to the text that the journal stores, and back.
import { parse, stringify } from "lossless-json";
import * as z from "zod/v4";
import { parseNumber } from "../api-client/decode.ts";
import { FieldError } from "../contract/problem.ts";
import { FAILURE_KINDS, type Failure, type FailureFacts } from "../core/failure.ts";
import type { Resolution } from "./store/action-row.ts";

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

const ActionOutcome = z.union([
  z.object({ value: z.unknown(), drift: z.array(z.string()) }),
  z.object({ failure: Facts }),
]);
export type ActionOutcome =
  | { readonly value: unknown; readonly drift: readonly string[] }
  | { readonly failure: FailureFacts };

export const stringifyOutcome = (outcome: ActionOutcome): string => stringify(outcome) ?? "";

/** Parses a text that `stringifyOutcome` returned. Throws for any other text. */
export const parseOutcome = (text: string): ActionOutcome => ActionOutcome.parse(parse(text, null, parseNumber));

/** Returns the state of an action after this failure. */
export function stateAfterFailure({ facts }: Failure): Resolution["state"] {
  if (facts.sideEffect === "unknown") return "unknown";
  // "done": the action took effect, although its response could not be read.
  return facts.sideEffect === "done" ? "succeeded" : "rejected";
}

/** Returns the failure in a stored outcome; undefined if it has none. */
export function failureFrom(outcome: string | null): FailureFacts | undefined {
  const result = outcome === null ? undefined : parseOutcome(outcome);
  return result && "failure" in result ? result.failure : undefined;
}
