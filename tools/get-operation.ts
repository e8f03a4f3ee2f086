// This module defines get_operation, which reads an asynchronous operation, and can wait for its end.
import * as z from "zod/v4";
import { getMicPublicOperation } from "../src/contract/endpoints/job-processing.ts";
import type { Operation } from "../src/contract/operation.ts";
import { view, waitSeconds } from "../src/toolkit/arguments.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { describeOperation, operationStatus } from "../src/toolkit/describe/operation.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { readResource } from "../src/toolkit/polling.ts";

const reading = { endpoint: getMicPublicOperation, describe: describeOperation, status: operationStatus };

export const getOperation = defineTool({
  endpoint: getMicPublicOperation,
  name: "get_operation",
  title: "Get an operation, such as a cancellation",
  description:
    "Get an asynchronous operation, such as a cancellation: state and result. With waitSeconds, wait for it to end.",
  effect: "read",
  input: z.strictObject({ operationId: getMicPublicOperation.pathParameters.shape.operationId, waitSeconds, view }),
  output: outputs.resource<Operation>(),
  run: ({ operationId, ...how }, ctx) => readResource({ path: { operationId }, ...reading, ...how }, ctx),
});
