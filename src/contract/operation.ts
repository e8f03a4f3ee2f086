// This module defines the Operation resource, the record of an asynchronous operation (docs/contract.md, 2.2 and 3).
import * as z from "zod/v4";
import type { Contradictions, EnvelopedResponse } from "./envelope.ts";
import { Environment, findFailureContradictions, resourceVersion } from "./jobs.ts";
import { Problem } from "./problem.ts";
import { chars, dateTime, listed } from "./scalars.ts";

export const OperationState = listed(["QUEUED", "RUNNING", "SUCCEEDED", "FAILED", "CANCELLED"]);

export const Operation = z.strictObject({
  id: chars(1, 128),
  workspaceId: chars(1, 128),
  environment: Environment,
  state: OperationState,
  resourceVersion,
  createdAt: dateTime,
  updatedAt: dateTime,
  originatingResourceId: chars(1, 128),
  operationType: chars(1, 100),
  requiredScopes: z.array(chars(1, 100)).max(64),
  resultResourceId: chars(1, 128).nullable(),
  failure: Problem.nullable(),
});
export type Operation = z.infer<typeof Operation>;

export const operationContradictions = ({ data }: EnvelopedResponse<Operation>): Contradictions =>
  findFailureContradictions(data, "/data");
