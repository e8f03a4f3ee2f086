// File-processing permission requests: reviewed on the clock, decided by purpose and input.
import { parseDateTime } from "../../contract/instants.ts";
import type { ProcessingRequest, ReasonCode } from "../../contract/processing-requests.ts";
import { DECIDED_AFTER_MS, REVIEWABLE_AFTER_MS } from "../assumptions.ts";
import { toInstant } from "../clock.ts";
import { sha256 } from "../ids.ts";
import { type InputRecord, inputAt, inputEndsAt } from "./inputs.ts";

export interface ProcessingRequestRecord {
  readonly id: string;
  readonly createdAt: number;
  /** As the caller wrote it. */
  readonly expiresAt: string;
  readonly input: InputRecord;
  readonly recipeVersionId: string;
  readonly requestHash: string;
  readonly purpose: string;
  /** A seeded request that does not move. */
  readonly fixed?: Pick<ProcessingRequest, "state" | "revision" | "reasonCode">;
}

/** Milliseconds of a UTC instant; a part of a millisecond counts as a whole one. */
export const toMilliseconds = (text: string): number => Math.ceil(Number(parseDateTime(text) ?? 0n) / 1000);

interface ReviewStep {
  readonly at: number;
  readonly state: ProcessingRequest["state"];
  readonly reasonCode: ReasonCode | null;
}

function decide({ purpose, input }: ProcessingRequestRecord, workspaceId: string, at: number): ReviewStep {
  if (/marketing/i.test(purpose)) return { at, state: "REJECTED", reasonCode: "PURPOSE_NOT_ALLOWED" };
  if (inputAt(input, workspaceId, at).state !== "READY")
    return { at, state: "REJECTED", reasonCode: "SOURCE_NOT_ELIGIBLE" };
  return { at, state: "APPROVED", reasonCode: "REVIEWED_PROCESSING_PURPOSE" };
}

/** All that becomes of the request. It ends with its expiry or its input, whichever is first. */
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
  // An input that has ended before now is for the review to judge, not a permission to revoke.
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
