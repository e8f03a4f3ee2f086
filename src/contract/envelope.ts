// This module defines the wrappers of resources in the job-processing API: envelopes and pages (docs/contract.md, 2.2).
import * as z from "zod/v4";
import { integer } from "./numbers.ts";
import { chars, prefixedId } from "./text.ts";

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
