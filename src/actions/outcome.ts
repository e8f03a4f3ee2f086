// How an action ended, as the journal keeps it: the answer, or the refusal, in a form that can be given again.
import { parse, stringify } from "lossless-json";
import * as z from "zod/v4";
import { readNumber } from "../api-client/decode.ts";
import { FieldError } from "../contract/problem.ts";
import { FAILURE_KINDS, type Failure, type FailureFacts } from "../failure.ts";
import type { Resolution } from "./stored.ts";

const Facts = z.object({
  kind: z.enum(FAILURE_KINDS),
  message: z.string(),
  status: z.int().optional(),
  code: z.string().optional(),
  requestId: z.string().optional(),
  retryable: z.boolean(),
  sideEffect: z.enum(["none", "done", "unknown"]),
  idempotencyKey: z.string().optional(),
  retryAfterSeconds: z.number().optional(),
  fieldErrors: z.array(FieldError).optional(),
  next: z.string().optional(),
});

const ActionOutcome = z.union([
  z.object({ value: z.unknown(), drift: z.array(z.string()) }),
  z.object({ failure: Facts }),
]);
export type ActionOutcome =
  | { readonly value: unknown; readonly drift: readonly string[] }
  | { readonly failure: FailureFacts };

export const writeOutcome = (outcome: ActionOutcome): string => stringify(outcome) ?? "";

/** Throws when the text is none of ours. */
export function readOutcome(text: string): ActionOutcome {
  const outcome = ActionOutcome.parse(parse(text, null, readNumber));
  if (!("failure" in outcome)) return outcome;
  // Optional facts that are not there must not come back as undefined.
  const { status, code, requestId, idempotencyKey, retryAfterSeconds, fieldErrors, next, ...facts } = outcome.failure;
  return {
    failure: {
      ...facts,
      ...(status !== undefined && { status }),
      ...(code !== undefined && { code }),
      ...(requestId !== undefined && { requestId }),
      ...(idempotencyKey !== undefined && { idempotencyKey }),
      ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
      ...(fieldErrors !== undefined && { fieldErrors }),
      ...(next !== undefined && { next }),
    },
  };
}

/** The state of an action after this failure. */
export function stateAfter({ facts }: Failure): Resolution["state"] {
  if (facts.sideEffect === "unknown") return "unknown";
  // If it is "done", the action took effect, although its answer could not be read.
  return facts.sideEffect === "done" ? "succeeded" : "rejected";
}

/** The API's last answer, as the journal keeps it, was a refusal that it most likely repeats. */
export function isRefused(outcome: string | null): boolean {
  const ended = outcome === null ? undefined : readOutcome(outcome);
  return (
    ended !== undefined &&
    "failure" in ended &&
    (ended.failure.kind === "precondition_failed" || ended.failure.kind === "conflict")
  );
}
