import * as z from "zod/v4";
import { runAction } from "../src/catalogue/action.ts";
import { keyArgument } from "../src/catalogue/requests.ts";
import { outputs } from "../src/catalogue/results.ts";
import { processingRequestSubject } from "../src/catalogue/telling/processing-request.ts";
import { defineTool } from "../src/catalogue/tool.ts";
import { requestMicSharedFileProcessing } from "../src/contract/endpoints/job-processing.ts";

const traits = { about: "inputId" };

export const requestFileProcessing = defineTool({
  endpoint: requestMicSharedFileProcessing,
  name: "request_file_processing",
  title: "Request permission to process a shared file",
  description:
    "Asks for permission to process a shared file with a recipe version; a person reviews it before a job can run. " +
    "Quotes get_recipe's versionHash.",
  effect: "create",
  traits,
  input: z.strictObject({ ...requestMicSharedFileProcessing.body.shape, ...keyArgument("processing") }),
  output: outputs.action,
  run: (args, call) =>
    runAction(args, call, {
      endpoint: requestMicSharedFileProcessing,
      traits,
      subject: processingRequestSubject,
      findOut: "No tool lists requests; ask the workspace's reviewers whether they have it.",
    }),
});
