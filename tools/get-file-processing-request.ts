import * as z from "zod/v4";
import { getMicSharedFileProcessingRequest } from "../src/contract/endpoints/job-processing.ts";
import type { ProcessingRequest } from "../src/contract/processing-requests.ts";
import { isInReview, processingRequestSubject } from "../src/toolkit/advice/processing-request.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { advisedResult } from "../src/toolkit/results.ts";
import { waitSeconds, waitWhile } from "../src/toolkit/wait-while.ts";

export const getFileProcessingRequest = defineTool({
  endpoint: getMicSharedFileProcessingRequest,
  name: "get_file_processing_request",
  title: "Get a file-processing request",
  description: "One permission request for a shared file: approved, rejected or revoked, and why.",
  effect: "read",
  input: z.strictObject({ ...getMicSharedFileProcessingRequest.pathParameters.shape, waitSeconds }),
  output: outputs.advised<ProcessingRequest>(),
  async run({ requestId, waitSeconds = 0 }, call, { service }) {
    let readings = 0;
    const answer = await waitWhile(
      {
        read: () => service.call(getMicSharedFileProcessingRequest, { path: { requestId } }, call.context),
        version: ({ value }) => value.data.revision,
        isMoving: () => false,
        waitsForPerson: ({ value }) => isInReview(value.data),
        onRead: ({ value }) => call.report({ progress: ++readings, message: value.data.state }),
      },
      waitSeconds,
      { ...call.context, timing: service.timing },
    );
    return await advisedResult(answer, processingRequestSubject, call);
  },
});
