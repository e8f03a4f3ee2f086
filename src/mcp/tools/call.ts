// One tools/call: arguments in, result or failure out.
import {
  type CallToolResult,
  type InputRequiredResult,
  ProtocolError,
  type ServerContext,
} from "@modelcontextprotocol/server";
import type { Delivery } from "../../actions/actions.ts";
import type { Arguments } from "../../actions/identity.ts";
import type { Job } from "../../contract/jobs.ts";
import { Failure, type FailureFacts, reasonOf } from "../../failure.ts";
import { CALL_LIMIT_MS } from "../../service/attempts.ts";
import { argumentsObject, type Tool } from "../../toolkit/define-tool.ts";
import type { ActionResult } from "../../toolkit/results.ts";
import type { Progress, ToolCall } from "../../toolkit/tool-call.ts";
import type { ToolName } from "../../toolkit/tool-names.ts";
import type { Runtime } from "../runtime.ts";
import type { JobTasks } from "../tasks/job-tasks.ts";
import type { Confirmation } from "./confirmation.ts";
import type { Deliveries } from "./deliveries.ts";
import { factsOf, failureText } from "./failure-text.ts";
import { shownResult } from "./result.ts";
import { toolCall } from "./tool-call.ts";

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

/** No key and no id is longer, and no call names more of them. */
const MAX_NAME = 160;
const MAX_NAMES = 100;

/** What a call may name an action by, its key or the id of what it made: all its texts, wherever they stand. */
function namesIn(args: Readonly<Record<string, unknown>>): string[] {
  const names = new Set<string>();
  function collect(value: unknown): void {
    if (typeof value === "string" && value.length <= MAX_NAME && names.size < MAX_NAMES) names.add(value);
    else if (typeof value === "object" && value !== null) for (const part of Object.values(value)) collect(part);
  }
  const { workspaceId, ...named } = args;
  collect(named);
  return [...names];
}

/** A call that has only a key: with the arguments of that action. */
async function recalled(
  tool: Tool,
  { idempotencyKey, ...others }: Readonly<Record<string, unknown>>,
  runtime: Runtime,
) {
  if (!tool.traits || typeof idempotencyKey !== "string" || Object.keys(others).length > 0) return undefined;
  const meant = await runtime.actions.recall(await runtime.serviceName(), tool.name, idempotencyKey);
  return meant && { ...meant, idempotencyKey };
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
  tool: ToolName,
  result: ActionResult<Job>,
  { tasks, runtime }: Situation,
): Promise<CallToolResult | undefined> {
  try {
    return await tasks?.answer(tool, result);
  } catch (error) {
    runtime.log.warn({ tool, reason: reasonOf(error) }, "no task could be made of this call");
    return undefined;
  }
}

/** What the tool answers; or the task that its job is, for a client that follows tasks. */
async function use(tool: Tool, given: Arguments, call: ToolCall, situation: Situation): Promise<CallToolResult> {
  const { runtime, takesLinks } = situation;
  if (tool.makes !== "job") return shownResult(await tool.invoke(given, call), runtime, takesLinks);
  const result = await tool.invoke(given, call);
  return (await taskOf(tool.name, result, situation)) ?? shownResult(result, runtime, takesLinks);
}

/** A question to the person is no answer yet: the client brings the same call again with theirs. */
export async function callTool(
  tool: Tool,
  args: unknown,
  situation: Situation,
): Promise<CallToolResult | InputRequiredResult> {
  const { runtime, deliveries, context, confirmation, capabilities } = situation;
  const { service, log } = runtime;
  const startedAt = service.timing.now();
  const { signal, id } = context.mcpReq;
  const outcomes: Delivery[] = [];
  let result: CallToolResult;
  try {
    const said = argumentsObject(tool.name, args);
    if (tool.toolset === "jobs") runtime.actions.hear(runtime.serviceName, namesIn(said));
    const given = await withWorkspace(tool, (await recalled(tool, said, runtime)) ?? said, runtime);
    const limits = { signal, deadlineAt: startedAt + CALL_LIMIT_MS };
    const consent = await confirmation.seek(tool, given, context, capabilities, toolCall(runtime, tool.name, limits));
    if ("ask" in consent) return consent.ask;
    const call = toolCall(runtime, tool.name, limits, {
      report: reporter(context),
      carry: (delivery) => outcomes.push(delivery),
      proposedKey: consent.key,
      shownVersion: consent.shownVersion,
    });
    result = await use(tool, given, call, situation);
    log.info({ tool: tool.name, ms: service.timing.now() - startedAt }, "tool call");
  } catch (error) {
    if (error instanceof ProtocolError) throw error;
    const facts = signal.aborted && !(error instanceof Failure) ? cancelledFacts : factsOf(error);
    result = failureResult(tool.name, facts);
    log.info({ tool: tool.name, ms: service.timing.now() - startedAt, kind: facts.kind }, "tool call failed");
    if (facts.kind === "internal") log.error({ tool: tool.name, err: error }, "internal failure");
  }
  deliveries.expect(id, outcomes, signal);
  return result;
}
