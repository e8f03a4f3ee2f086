// This module defines request_file_processing, which requests permission to process a shared file with a recipe version.
import * as z from "zod/v4";
import { formatDuration } from "../src/actions/deduplication-window.ts";
import { identifies, type TraitsOf } from "../src/actions/fingerprint.ts";
import { deriveRepeatKey } from "../src/actions/idempotency-keys.ts";
import {
  getMicSharedFileProcessingRequest,
  requestMicSharedFileProcessing,
} from "../src/contract/endpoints/job-processing.ts";
import type { ProcessingRequest } from "../src/contract/processing-requests.ts";
import { parseDateTime } from "../src/contract/scalars.ts";
import { invalidArguments, unlessFailed } from "../src/core/failure.ts";
import { join, raw, say, withKey } from "../src/core/text.ts";
import { keyArgument } from "../src/toolkit/arguments.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { describeRequestWith, requestStatus } from "../src/toolkit/describe/processing-request.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { resourceResult } from "../src/toolkit/results.ts";
import { runAction } from "../src/toolkit/run-action.ts";
import type { ToolContext } from "../src/toolkit/tool-context.ts";

/** Tolerance for errors of this machine's clock, since the API decides by its own clock (open question 16). */
const CLOCK_SLACK_MS = 5 * 60_000;

function rejectPast(expiresAt: string, now: number): void {
  const expiresAtMs = Number(parseDateTime(expiresAt) ?? 0n) / 1000;
  if (expiresAtMs >= now - CLOCK_SLACK_MS) return;
  const message = `must be in the future; it is now ${new Date(now).toISOString()} here`;
  throw invalidArguments(say`request_file_processing was not sent: expiresAt is in the past.`, [
    { pointer: "/expiresAt", code: "IN_THE_PAST", message },
  ]);
}

const requestBody = requestMicSharedFileProcessing.body;
const body = requestBody.shape;

const traits: TraitsOf<typeof requestMicSharedFileProcessing> = {
  targetArgument: "inputId",
  arguments: {
    workspaceId: identifies(),
    inputId: identifies(),
    recipeVersionId: identifies(),
    recipeVersionHash: identifies(),
    purpose: identifies(),
    expiresAt: "note",
  },
};

const readRequest = (requestId: string, ctx: ToolContext) =>
  ctx.api.call(getMicSharedFileProcessingRequest, { path: { requestId } }, ctx);

/**
 * Reads the latest request in the journal for the same input and recipe version, but not with a key, which asks for a new request. `pending`:
 * it is still to be decided, or approved; the API may consider only a new one, whose review starts again. `ended`: its state. Throws Failure.
 */
async function readEarlier(
  {
    idempotencyKey,
    ...args
  }: Readonly<z.output<typeof requestBody>> & { readonly idempotencyKey?: string | undefined },
  ctx: ToolContext,
) {
  const { proposedKey, tool } = ctx;
  if (idempotencyKey !== undefined) return {};
  if (await ctx.actions.findExisting({ tool, arguments: args, traits, explicitKey: undefined, proposedKey })) return {};
  rejectPast(args.expiresAt, ctx.api.timing.now());
  const earlier = (await ctx.actions.readHistory(args.inputId)).actions.find(
    (action) =>
      action.tool === tool &&
      action.state === "succeeded" &&
      (["workspaceId", "recipeVersionId", "recipeVersionHash"] as const).every(
        (name) => action.arguments[name] === args[name],
      ),
  );
  if (earlier?.createdId === undefined) return {};
  const answer = await unlessFailed(readRequest(earlier.createdId, ctx), "not_found", "forbidden");
  if (!answer) return {};
  const { id, state, createdAt, expiresAt } = answer.value.data;
  const now = answer.respondedAt ?? ctx.api.timing.now();
  if (state === "REJECTED" || state === "REVOKED") return { ended: say`The earlier request ${id} is ${state}.` };
  if (Date.parse(expiresAt) <= now) return { ended: say`The earlier request ${id} expired at ${expiresAt}.` };
  const age = raw(formatDuration(Math.max(0, now - Date.parse(createdAt))));
  const again = deriveRepeatKey(earlier.idempotencyKey);
  const notice = say`Not requested again: ${id}, requested ${age} ago, is ${state}. To request it again, ${withKey(again)}.`;
  return { pending: await resourceResult(answer, describeRequestWith(ctx), { notice }) };
}

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
    workspaceId: body.workspaceId,
    inputId: body.inputId,
    recipeVersionId: body.recipeVersionId,
    recipeVersionHash: body.recipeVersionHash.describe("recipe.versionHash from get_recipe."),
    purpose: body.purpose.describe("Why; at most 160 characters."),
    expiresAt: body.expiresAt.describe("Date or time in the future."),
    ...keyArgument("processing"),
  }),
  output: outputs.resource<ProcessingRequest>(),
  async run(args, ctx) {
    const { pending, ended } = await readEarlier(args, ctx);
    if (pending) return pending;
    const made = await runAction(args, ctx, {
      endpoint: requestMicSharedFileProcessing,
      traits,
      describe: describeRequestWith(ctx),
      status: requestStatus,
      readNow: (requestId) => readRequest(requestId, ctx),
      findOut: say`No tool lists requests; ask the workspace's reviewers whether they have it.`,
      async check() {
        rejectPast(args.expiresAt, ctx.api.timing.now());
      },
    });
    return { ...made, summary: join([made.summary, ended]) };
  },
});
