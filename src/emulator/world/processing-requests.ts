// Computes the state of file-processing permission requests from the time, the purpose and the input.

import type { ProcessingRequest } from "../../contract/processing-requests.ts";
import { parseDateTime } from "../../contract/scalars.ts";
import { DECIDED_AFTER_MS, REVIEWABLE_AFTER_MS } from "../assumptions.ts";
import { toInstant } from "../clock.ts";
import { sha256 } from "../ids.ts";
import { type InputRecord, inputAt, inputEndsAt } from "./inputs.ts";

export interface ProcessingRequestRecord {
  readonly id: string;
  readonly createdAt: number;
  /** The instant exactly as the client sent it. */
  readonly expiresAt: string;
  readonly input: InputRecord;
  readonly recipeVersionId: string;
  readonly requestHash: string;
  readonly purpose: string;
  /** Set for a seeded request that does not change. */
  readonly fixed?: Pick<ProcessingRequest, "state" | "revision" | "reasonCode">;
}

/** Returns the milliseconds since 1970 of a UTC instant, rounded up. */
export const toMilliseconds = (text: string): number => Math.ceil(Number(parseDateTime(text) ?? 0n) / 1000);

interface ReviewStep {
  readonly at: number;
  readonly state: ProcessingRequest["state"];
  readonly reasonCode: ProcessingRequest["reasonCode"];
}

function decide({ purpose, input }: ProcessingRequestRecord, workspaceId: string, at: number): ReviewStep {
  if (/marketing/i.test(purpose)) return { at, state: "REJECTED", reasonCode: "PURPOSE_NOT_ALLOWED" };
  if (inputAt(input, workspaceId, at).state !== "READY")
    return { at, state: "REJECTED", reasonCode: "SOURCE_NOT_ELIGIBLE" };
  return { at, state: "APPROVED", reasonCode: "REVIEWED_PROCESSING_PURPOSE" };
}

/** Returns all state changes of the request. It ends at its expiry or when its input ends, whichever is earlier. */
function reviewSteps(record: ProcessingRequestRecord, workspaceId: string): readonly ReviewStep[] {
  const { createdAt, expiresAt, input } = record;
  const endsAt = Math.min(toMilliseconds(expiresAt), inputEndsAt(input) ?? Number.POSITIVE_INFINITY);
  const decision = decide(record, workspaceId, createdAt + DECIDED_AFTER_MS);
  const stepsUntilDecision: readonly ReviewStep[] = [
    { at: createdAt, state: "SUBMITTED", reasonCode: null },
    { at: createdAt + REVIEWABLE_AFTER_MS, state: "REVIEWABLE", reasonCode: null },
    decision,
  ];
  if (decision.state === "REJECTED") return stepsUntilDecision;
  // If the input had already ended at creation, the review decides, and there is no permission to revoke.
  if (endsAt <= createdAt) return stepsUntilDecision;
  const stepsBeforeEnd = stepsUntilDecision.filter(({ at }) => at < endsAt);
  return [...stepsBeforeEnd, { at: endsAt, state: "REVOKED", reasonCode: "ACCESS_NO_LONGER_REQUIRED" }];
}

export function processingRequestAt(
  record: ProcessingRequestRecord,
  workspaceId: string,
  now: number,
): ProcessingRequest {
  const past = reviewSteps(record, workspaceId).filter(({ at }) => at <= now);
  const latest = past.at(-1) ?? { state: "SUBMITTED", reasonCode: null };
  const { state, reasonCode, revision } = record.fixed ?? { ...latest, revision: Math.max(1, past.length) };
  const wasReviewed = state !== "SUBMITTED" && state !== "REVIEWABLE" && reasonCode !== null;
  return {
    id: record.id,
    sourceOrigin: "SHARED_FILE_REQUEST",
    workspaceId,
    inputId: record.input.id,
    recipeVersionId: record.recipeVersionId,
    state,
    revision,
    requestHash: record.requestHash,
    reviewHash: wasReviewed ? sha256(`${record.requestHash}\n${state}\n${reasonCode}`) : null,
    reasonCode,
    createdAt: toInstant(record.createdAt),
    expiresAt: record.expiresAt,
  };
}
