// One tools/call: arguments in, result or failure out.
import {
  type CallToolResult,
  type InputRequiredResult,
  ProtocolError,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { argumentsObject, type Progress, type Tool, type ToolResult } from "../catalogue/tool.ts";
import { isJsonObject } from "../contract/json.ts";
import { Failure, type FailureFacts, reasonOf } from "../failure.ts";
import { CALL_LIMIT_MS } from "../service/attempts.ts";
import type { Confirmation } from "./confirmation.ts";
import type { Deliveries } from "./deliveries.ts";
import { factsOf, failureText } from "./failures.ts";
import type { JobTasks } from "./job-tasks.ts";
import type { Runtime } from "./runtime.ts";
import { toolCall } from "./tool-call.ts";
import { shownResult } from "./tool-result.ts";

/** Progress goes out only when the client asked for it, and only upwards, as the protocol wants. */
function reporter(context: ServerContext): (progress: Progress) => void {
  const progressToken = context.mcpReq._meta?.progressToken;
  let last = Number.NEGATIVE_INFINITY;
  let lastMessage = "";
  return ({ progress, total, message }) => {
    if (progressToken === undefined || (progress <= last && message === lastMessage)) return;
    // Within a stage the units move and the count does not: a hair more keeps it rising.
    last = progress > last ? progress : last + 0.001;
    lastMessage = message;
    const params = { progressToken, progress: last, message, ...(total !== undefined && { total }) };
    context.mcpReq.notify({ method: "notifications/progress", params }).catch(() => undefined);
  };
}

const cancelledFacts: FailureFacts = {
  kind: "cancelled",
  message: "The call was cancelled by the client.",
  retryable: true,
  sideEffect: "none",
};

function failureResult(tool: string, facts: FailureFacts): CallToolResult {
  return {
    isError: true,
    content: [{ type: "text", text: failureText(tool, facts) }],
    _meta: { "mic-mcp/error": facts },
  };
}

function keyIn(structured: Readonly<Record<string, unknown>>): string | undefined {
  const { action } = structured;
  const key = isJsonObject(action) ? action["idempotencyKey"] : undefined;
  return typeof key === "string" ? key : undefined;
}

async function withWorkspace(tool: Tool, given: Readonly<Record<string, unknown>>, runtime: Runtime) {
  if (given["workspaceId"] !== undefined || !tool.argumentNames.includes("workspaceId")) return given;
  const workspaceId = await runtime.workspaceId();
  return workspaceId === undefined ? given : { ...given, workspaceId };
}

export interface Situation {
  readonly runtime: Runtime;
  readonly deliveries: Deliveries;
  readonly context: ServerContext;
  /** Revisions before 2025-06-18 know no resource_link: their clients would refuse the whole result. */
  readonly takesLinks: boolean;
  readonly confirmation: Confirmation;
  /** What the client can do, as it said itself. */
  readonly capabilities: unknown;
  /** Present where the client follows tasks. */
  readonly tasks: JobTasks | undefined;
}

/** A client that follows tasks is not owed one: where none can be made, the answer itself is what it gets. */
async function taskOf(
  tool: Tool,
  told: ToolResult,
  { tasks, runtime }: Situation,
): Promise<CallToolResult | undefined> {
  try {
    return await tasks?.answer(tool, told);
  } catch (error) {
    runtime.log.warn({ tool: tool.name, reason: reasonOf(error) }, "no task could be made of this call");
    return undefined;
  }
}

/** A question to the person is no answer yet: the client brings the same call again with theirs. */
export async function callTool(
  tool: Tool,
  args: unknown,
  situation: Situation,
): Promise<CallToolResult | InputRequiredResult> {
  const { runtime, deliveries, context, takesLinks, confirmation, capabilities } = situation;
  const { service, log } = runtime;
  const startedAt = service.timing.now();
  const { signal, id } = context.mcpReq;
  const tells: (() => Promise<void>)[] = [];
  const asked = JSON.stringify([tool.name, args ?? null]);
  let result: CallToolResult;
  let key: string | undefined;
  try {
    const resentKey = deliveries.keyOf(id, asked);
    const said = {
      ...argumentsObject(tool.name, args),
      ...(resentKey !== undefined && { idempotencyKey: resentKey }),
    };
    const given = await withWorkspace(tool, said, runtime);
    const limits = { signal, deadlineAt: startedAt + CALL_LIMIT_MS };
    const consent = await confirmation.seek(tool, given, context, capabilities, toolCall(runtime, tool.name, limits));
    if ("ask" in consent) return consent.ask;
    const call = toolCall(runtime, tool.name, limits, {
      report: reporter(context),
      whenDelivered: (tell) => tells.push(tell),
      proposedKey: consent.key,
      shownVersion: consent.shownVersion,
    });
    const told = await tool.invoke(given, call);
    result = (await taskOf(tool, told, situation)) ?? shownResult(told, runtime, takesLinks);
    key = keyIn(told.structured);
    log.info({ tool: tool.name, ms: service.timing.now() - startedAt }, "tool call");
  } catch (error) {
    if (error instanceof ProtocolError) throw error;
    const facts = signal.aborted && !(error instanceof Failure) ? cancelledFacts : factsOf(error);
    result = failureResult(tool.name, facts);
    key = facts.idempotencyKey;
    log.info({ tool: tool.name, ms: service.timing.now() - startedAt, kind: facts.kind }, "tool call failed");
    if (facts.kind === "internal") log.error({ tool: tool.name, err: error }, "internal failure");
  }
  if (key !== undefined) deliveries.keep(id, asked, key);
  deliveries.expect(id, tells, signal);
  return result;
}
