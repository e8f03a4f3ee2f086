// This module defines get_file_processing_request, which reads one permission request, and can wait for its review.
import * as z from "zod/v4";
import { getMicSharedFileProcessingRequest } from "../src/contract/endpoints/job-processing.ts";
import type { ProcessingRequest } from "../src/contract/processing-requests.ts";
import { view, waitSeconds } from "../src/toolkit/arguments.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { describeRequestWith, requestStatus } from "../src/toolkit/describe/processing-request.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { readResource } from "../src/toolkit/polling.ts";

export const getFileProcessingRequest = defineTool({
  endpoint: getMicSharedFileProcessingRequest,
  name: "get_file_processing_request",
  title: "Get a file-processing request: approved or rejected",
  description:
    "Get a permission request for a shared file: approved, rejected or revoked, and why. With waitSeconds, wait for the reviewer.",
  effect: "read",
  input: z.strictObject({
    requestId: getMicSharedFileProcessingRequest.pathParameters.shape.requestId,
    waitSeconds,
    view,
  }),
  output: outputs.resource<ProcessingRequest>(),
  run: ({ requestId, ...how }, ctx) =>
    readResource(
      {
        endpoint: getMicSharedFileProcessingRequest,
        path: { requestId },
        describe: describeRequestWith(ctx),
        status: requestStatus,
        ...how,
      },
      ctx,
    ),
});
