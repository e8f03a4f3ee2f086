// How an action ended, as the journal keeps it: the answer, or the refusal, in a form that can be given again.
import { parse, stringify } from "lossless-json";
import * as z from "zod/v4";
import { parseNumber } from "../api-client/decode.ts";
import { FieldError } from "../contract/problem.ts";
import { FAILURE_KINDS, type Failure, type FailureFacts } from "../core/failure.ts";
import type { Resolution } from "./store/action-row.ts";

// An optional fact that is absent must not come back as undefined.
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

/** Throws if writeOutcome has not written the text. */
export const parseOutcome = (text: string): ActionOutcome => ActionOutcome.parse(parse(text, null, parseNumber));

/** The state of an action after this failure. */
export function stateAfterFailure({ facts }: Failure): Resolution["state"] {
  if (facts.sideEffect === "unknown") return "unknown";
  // If it is "done", the action took effect, although its answer could not be read.
  return facts.sideEffect === "done" ? "succeeded" : "rejected";
}

/** The API's last answer, as the journal keeps it, was a refusal that it most likely repeats. */
export function isRefused(outcome: string | null): boolean {
  const ended = outcome === null ? undefined : parseOutcome(outcome);
  return (
    ended !== undefined &&
    "failure" in ended &&
    (ended.failure.kind === "precondition_failed" || ended.failure.kind === "conflict")
  );
}
