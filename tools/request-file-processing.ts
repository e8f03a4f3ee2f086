// This module defines request_file_processing, which requests permission to process a shared file with a recipe version.
import * as z from "zod/v4";
import {
  getMicSharedFileProcessingRequest,
  requestMicSharedFileProcessing,
} from "../src/contract/endpoints/job-processing.ts";
import type { ProcessingRequest } from "../src/contract/processing-requests.ts";
import { parseDateTime } from "../src/contract/scalars.ts";
import { invalidArguments } from "../src/core/failure.ts";
import { keyArgument, recipeVersionText } from "../src/toolkit/arguments.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { describeRequestWith, requestStatus } from "../src/toolkit/describe/processing-request.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { runAction } from "../src/toolkit/run-action.ts";

/** Tolerance for errors of this machine's clock, since the API decides by its own clock (open question 16). */
const CLOCK_SLACK_MS = 5 * 60_000;

function rejectPast(expiresAt: string, now: number): void {
  const expiresAtMs = Number(parseDateTime(expiresAt) ?? 0n) / 1000;
  if (expiresAtMs >= now - CLOCK_SLACK_MS) return;
  const message = `must be in the future; it is now ${new Date(now).toISOString()} here`;
  throw invalidArguments("request_file_processing was not sent: expiresAt is in the past.", [
    { pointer: "/expiresAt", code: "IN_THE_PAST", message },
  ]);
}

const body = requestMicSharedFileProcessing.body.shape;

const traits = {
  targetArgument: "inputId",
  identifyingArguments: ["workspaceId", "inputId", "recipeVersionId", "recipeVersionHash", "purpose"],
};

export const requestFileProcessing = defineTool({
  endpoint: requestMicSharedFileProcessing,
  name: "request_file_processing",
  title: "Request permission to process a shared file",
  description:
    "Request permission to process a shared file with one recipe version. A reviewer decides; no job is started.",
  effect: "create",
  makes: "processing request",
  traits,
  input: z.strictObject({
    ...body,
    recipeVersionId: body.recipeVersionId.describe(recipeVersionText),
    recipeVersionHash: body.recipeVersionHash.describe("recipe.versionHash from get_recipe."),
    purpose: body.purpose.describe("Why; at most 160 characters."),
    expiresAt: body.expiresAt.describe("In the future."),
    ...keyArgument("processing"),
  }),
  output: outputs.resource<ProcessingRequest>(),
  run: (args, ctx) =>
    runAction(args, ctx, {
      endpoint: requestMicSharedFileProcessing,
      traits,
      describe: describeRequestWith(ctx),
      status: requestStatus,
      readNow: (requestId) => ctx.api.call(getMicSharedFileProcessingRequest, { path: { requestId } }, ctx),
      findOut: "No tool lists requests; ask the workspace's reviewers whether they have it.",
      async check() {
        rejectPast(args.expiresAt, ctx.api.timing.now());
      },
    }),
});
