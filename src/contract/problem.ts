// This module defines Problem, which describes a failure in the job-processing API (docs/contract.md, 2.2 and 7.2).
import * as z from "zod/v4";
import { chars } from "./scalars.ts";

export const FieldError = z.strictObject({
  pointer: chars(0, 512),
  code: chars(1, 100),
  message: chars(1, 1000),
});
export type FieldError = z.infer<typeof FieldError>;

export const MAX_FIELD_ERRORS = 100;

export const Problem = z.strictObject({
  type: chars(1, 512),
  title: chars(1, 160),
  status: z.int().min(400).max(599),
  code: chars(1, 100),
  requestId: chars(1, 128),
  retryable: z.boolean(),
  fieldErrors: z.array(FieldError).max(MAX_FIELD_ERRORS),
});
export type Problem = z.infer<typeof Problem>;
