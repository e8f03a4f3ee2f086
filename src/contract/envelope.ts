// This module defines the wrappers of resources in the job-processing API: envelopes and pages (docs/contract.md, 2.2).
import * as z from "zod/v4";
import { chars, integer, prefixedId } from "./scalars.ts";

const anyRequestId = z.strictObject({ requestId: chars(1, 128) });
/** `micreq_` + hex32, in recipe, recipe-version and processing-request responses. */
const micRequestId = z.strictObject({ requestId: prefixedId("micreq_") });

export const envelope = <T extends z.ZodType>(data: T) => z.strictObject({ data, meta: anyRequestId });
export const micEnvelope = <T extends z.ZodType>(data: T) => z.strictObject({ data, meta: micRequestId });

export const MAX_PAGE = 100;
export const DEFAULT_JOB_PAGE = 25;

export const jobCursor = chars(1, 4096);
export const recipeCursor = z
  .string()
  .regex(/^[A-Za-z0-9_-]{43}$/, { error: "must be 43 characters of letters, digits, _ or -" });

export const jobPage = <T extends z.ZodType>(item: T) =>
  z.strictObject({
    data: z.array(item).max(MAX_PAGE),
    meta: anyRequestId,
    page: z.strictObject({ nextCursor: jobCursor.nullable(), hasMore: z.boolean() }),
  });

export const recipePage = <T extends z.ZodType>(item: T) =>
  z.strictObject({
    data: z.array(item).max(MAX_PAGE),
    page: z.strictObject({
      limit: integer(1, MAX_PAGE),
      nextCursor: recipeCursor.nullable(),
      hasMore: z.boolean(),
    }),
    meta: micRequestId,
  });

/**
 * Fields that are each valid but contradict each other. They are reported as drift, never rejected (open question 17). Each element is a
 * JSON pointer into the body, followed by a description of the contradiction.
 */
export type Contradictions = readonly string[];

export interface EnvelopedResponse<T> {
  readonly data: T;
}

export interface PagedResponse<T> extends EnvelopedResponse<readonly T[]> {
  readonly page: { readonly nextCursor: string | null; readonly hasMore: boolean };
}

/** Section 4.2: `hasMore` states whether more items remain, and `nextCursor` fetches them. */
export const pageContradictions = ({ page: { nextCursor, hasMore } }: PagedResponse<unknown>): Contradictions =>
  hasMore === (nextCursor !== null)
    ? []
    : [`/page: hasMore is ${hasMore}, though nextCursor is ${nextCursor === null ? "null" : "given"}`];
