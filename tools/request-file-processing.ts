import * as z from "zod/v4";
import {
  getMicSharedFileProcessingRequest,
  requestMicSharedFileProcessing,
} from "../src/contract/endpoints/job-processing.ts";
import { parseDateTime } from "../src/contract/instants.ts";
import type { ProcessingRequest } from "../src/contract/processing-requests.ts";
import { invalidArguments } from "../src/core/failure.ts";
import { processingRequestPresenter } from "../src/toolkit/advice/presenters.ts";
import { keyArgument } from "../src/toolkit/arguments.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { runAction } from "../src/toolkit/run-action.ts";

/** This machine's clock may be wrong by so much: the service judges by its own (doubt 16). */
const CLOCK_SLACK_MS = 5 * 60_000;

function rejectPast(expiresAt: string, now: number): void {
  const expiresAtMs = Number(parseDateTime(expiresAt) ?? 0n) / 1000;
  if (expiresAtMs >= now - CLOCK_SLACK_MS) return;
  const message = `must be in the future; it is now ${new Date(now).toISOString()} here`;
  throw invalidArguments("request_file_processing was not sent: expiresAt is in the past.", [
    { pointer: "/expiresAt", code: "IN_THE_PAST", message },
  ]);
}

const traits = {
  aboutArgument: "inputId",
  identifyingArguments: ["workspaceId", "inputId", "recipeVersionId", "recipeVersionHash", "purpose"],
};

export const requestFileProcessing = defineTool({
  endpoint: requestMicSharedFileProcessing,
  name: "request_file_processing",
  title: "Request permission to process a shared file",
  description:
    "Asks for permission to process a shared file with a recipe version; a person reviews it before a job can run. " +
    "Quotes get_recipe's versionHash.",
  effect: "create",
  makes: "processing request",
  traits,
  input: z.strictObject({ ...requestMicSharedFileProcessing.body.shape, ...keyArgument("processing") }),
  output: outputs.action<ProcessingRequest>(),
  run: (args, call, ports) =>
    runAction(args, call, ports, {
      endpoint: requestMicSharedFileProcessing,
      traits,
      presenter: processingRequestPresenter,
      readNow: (requestId) =>
        ports.service.call(getMicSharedFileProcessingRequest, { path: { requestId } }, call.context),
      findOut: "No tool lists requests; ask the workspace's reviewers whether they have it.",
      async check() {
        rejectPast(args.expiresAt, ports.service.timing.now());
      },
    }),
});
