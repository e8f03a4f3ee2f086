import { outputs, toldResult } from "../src/catalogue/results.ts";
import { processingRequestSubject } from "../src/catalogue/telling/processing-request.ts";
import { defineTool } from "../src/catalogue/tool.ts";
import { getMicSharedFileProcessingRequest } from "../src/contract/endpoints/job-processing.ts";

export const getFileProcessingRequest = defineTool({
  endpoint: getMicSharedFileProcessingRequest,
  name: "get_file_processing_request",
  title: "Get a file-processing request",
  description: "One permission request for a shared file: approved, rejected or revoked, and why.",
  effect: "read",
  input: getMicSharedFileProcessingRequest.pathParameters,
  output: outputs.toldResource,
  async run(path, call) {
    const answer = await call.service.call(getMicSharedFileProcessingRequest, { path }, call.context);
    return await toldResult(answer, processingRequestSubject, call);
  },
});
