// Runs tools. Serves one tools/call: completes the arguments, runs the tool, logs the call, and returns its result or failure.
import {
  type CallToolResult,
  type InputRequiredResult,
  ProtocolError,
  type RequestId,
  type ServerContext,
} from "@modelcontextprotocol/server";
import type { Arguments } from "../../actions/fingerprint.ts";
import { CALL_LIMIT_MS, type CallContext, type FailedAttempt } from "../../api-client/attempts.ts";
import { isJsonObject } from "../../contract/json.ts";
import { errorMessage, type FailureFacts } from "../../core/failure.ts";
import { excerpt } from "../../core/untrusted-text.ts";
import { toArgumentsObject } from "../../toolkit/arguments.ts";
import type { Tool } from "../../toolkit/define-tool.ts";
import { omitUnofferedTools } from "../../toolkit/offered-text.ts";
import type { ToolResult } from "../../toolkit/results.ts";
import type { Progress, ToolCall } from "../../toolkit/tool-call.ts";
import type { ToolName } from "../../toolkit/tool-names.ts";
import type { Log, Runtime } from "../runtime.ts";
import { factsOf, failureText, type ResourceLinkFactory, toCallToolResult, withJournalNotice } from "./answer.ts";
import type { Consent } from "./confirmation.ts";

/** Creates the context of one use of a tool: for tools/call, resources/read, a completion or a task. */
export const createToolCall = (
  runtime: Runtime,
  tool: ToolName,
  context: CallContext,
  options: Partial<Omit<ToolCall, "tool" | "context" | "isOffered" | "callActionTool">> = {},
): ToolCall => ({
  report: () => undefined,
  ...options,
  tool,
  context,
  isOffered: (name) => runtime.offered.has(name),
  async callActionTool(name, args, actContext) {
    const tool = runtime.tools.find((each) => each.name === name);
    return tool?.traits ? await tool.invoke(args, createToolCall(runtime, tool.name, actContext)) : undefined;
  },
});

/** The MCP request that contains a call. */
export interface CallRequest {
  readonly id: RequestId;
  /** The id of the session; undefined if the connection has none. */
  readonly session?: string | undefined;
  /** The name that the client declares. */
  readonly client?: string | undefined;
  readonly signal: AbortSignal;
  report(progress: Progress): void;
  /** Asks the user if this call needs confirmation. Throws Failure and ProtocolError. */
  requestConsent(tool: Tool, args: Arguments, call: ToolCall): Promise<Consent>;
}

const MAX_CLIENT_NAME = 100;

/** Number of calls in this process. It identifies a call; request ids do not, because each client counts from the start. */
let callCount = 0;

const memberOf = (part: unknown, name: string): unknown => (isJsonObject(part) ? part[name] : undefined);

/** Returns the fields that connect an answer to the journal and to the API's log. */
const correlationFieldsOf = ({ structuredContent, _meta }: CallToolResult) => ({
  key: memberOf(memberOf(structuredContent, "action"), "idempotencyKey"),
  attempts: memberOf(memberOf(structuredContent, "action"), "attempts"),
  requestId: memberOf(_meta, "mic-mcp/requestId"),
});

/**
 * Logs one tool call: its failed attempts and its answer. Common fields connect these lines, and the requestId connects them to the
 * API's own log. Arguments and results are not logged.
 */
function createCallLog(log: Log, tool: string, { id, session, client }: CallRequest, now: () => number) {
  const startedAt = now();
  callCount += 1;
  const commonFields = {
    call: callCount,
    request: id,
    session,
    client: client && excerpt(client, MAX_CLIENT_NAME),
    tool,
  };
  return {
    logFailedAttempt: (attempt: FailedAttempt): void => log.info({ ...commonFields, ...attempt }, "attempt failed"),
    logResult: (answer: CallToolResult): void =>
      log.info({ ...commonFields, ms: now() - startedAt, ...correlationFieldsOf(answer) }, "tool call"),
    logFailure({ kind, status, idempotencyKey: key, requestId }: FailureFacts, error: unknown): void {
      log.info({ ...commonFields, ms: now() - startedAt, kind, status, key, requestId }, "tool call failed");
      if (kind === "internal") log.error({ ...commonFields, err: error }, "internal failure");
    },
  };
}

/** Reports progress only if the client asked for it. The number always increases, as the protocol requires. */
export function createProgressReporter(context: ServerContext): CallRequest["report"] {
  const progressToken = context.mcpReq._meta?.progressToken;
  if (progressToken === undefined) return () => undefined;
  let last = Number.NEGATIVE_INFINITY;
  let lastMessage = "";
  return ({ progress, total, message }) => {
    if (progress <= last && message === lastMessage) return;
    // Within a stage only the message changes, but the protocol requires a number that increases.
    const increased = progress > last ? progress : last + 0.001;
    if (total !== undefined && increased > total) return;
    last = increased;
    lastMessage = message;
    const params = { progressToken, progress: last, message, ...(total !== undefined && { total }) };
    context.mcpReq.notify({ method: "notifications/progress", params }).catch(() => undefined);
  };
}

const canceledFacts: FailureFacts = {
  kind: "cancelled",
  message: "The call was canceled by the client.",
  retryable: true,
  sideEffect: "none",
};

const DECLINED_SUMMARY = "The user declined; nothing was sent. Do not call it again unless the user asks for it.";
const DECLINED: CallToolResult = {
  content: [{ type: "text", text: DECLINED_SUMMARY }],
  structuredContent: { summary: DECLINED_SUMMARY, declined: true },
};

const failureResult = (tool: string, facts: FailureFacts): CallToolResult => ({
  _meta: { "mic-mcp/error": facts },
  content: [{ type: "text", text: failureText(tool, facts) }],
  isError: true,
});

/** Whether this server refused the call because the caller lacks a right. A refusal by the API has an HTTP status. */
const isForbiddenByServer = ({ kind, status }: FailureFacts): boolean => kind === "forbidden" && status === undefined;

/** Returns the stored arguments of a key's action, for a call that contains only the key. */
async function recallArguments(
  tool: Tool,
  { idempotencyKey, ...others }: Readonly<Record<string, unknown>>,
  runtime: Runtime,
) {
  const isKeyOnly = Object.values(others).every((value) => value === null);
  if (!tool.byKey || typeof idempotencyKey !== "string" || !isKeyOnly) return undefined;
  const stored = await runtime.ports.actions.findArguments(tool.byKey.tool, idempotencyKey);
  return stored && { ...tool.byKey.argumentsOf(stored), idempotencyKey };
}

/** Returns undefined for a tool without the argument if the login cannot be read: then the workspace would only shorten its advice. */
async function defaultWorkspace(
  { argumentNames, toolsets }: Tool,
  { workspaceId }: Runtime,
): Promise<string | undefined> {
  if (argumentNames.includes("workspaceId")) return await workspaceId();
  return toolsets.includes("jobs") ? await workspaceId().catch(() => undefined) : undefined;
}

/** Omits the parts of the advice that mention tools that are not offered. */
function withOfferedAdvice(facts: FailureFacts, { offered }: Runtime): FailureFacts {
  const adapt = (text: string): string => omitUnofferedTools(text, (name) => offered.has(name));
  const { fieldErrors, next } = facts;
  const adapted: FailureFacts = {
    ...facts,
    ...(fieldErrors && { fieldErrors: fieldErrors.map((each) => ({ ...each, message: adapt(each.message) })) }),
    ...(next !== undefined && { next: adapt(next) }),
  };
  const { next: advice, ...others } = adapted;
  return advice === "" ? others : adapted;
}

/** These tools need no configuration, because they read only the journal. */
const JOURNAL_ONLY_TOOLS: ReadonlySet<ToolName> = new Set(["list_actions", "show_actions"]);

/**
 * Adds the stored arguments of an action if the call has only its key, and adds the default workspace. A missing configuration is
 * reported before the arguments are checked, because correcting them would not help. Also returns that workspace. Throws Failure.
 */
export async function completeArguments(
  tool: Tool,
  args: unknown,
  runtime: Runtime,
): Promise<{ readonly args: Arguments; readonly workspaceId: string | undefined }> {
  const isJournalOnly = JOURNAL_ONLY_TOOLS.has(tool.name);
  if (!isJournalOnly && tool.toolsets[0] !== undefined) await runtime.requireConfigured?.(tool.toolsets[0]);
  const given = toArgumentsObject(tool.name, args);
  const workspaceId = isJournalOnly ? undefined : await defaultWorkspace(tool, runtime);
  const complete: Arguments = (await recallArguments(tool, given, runtime)) ?? given;
  const isDefault = tool.argumentNames.includes("workspaceId") && (complete["workspaceId"] ?? undefined) === undefined;
  return { args: isDefault && workspaceId !== undefined ? { ...complete, workspaceId } : complete, workspaceId };
}

export interface CallEnvironment {
  readonly runtime: Runtime;
  readonly request: CallRequest;
  /** Undefined in revisions before 2025-06-18, which lack resource_link: their clients would refuse the whole result. */
  readonly linkOf: ResourceLinkFactory | undefined;
  /** Returns the task for a result; undefined if the result itself is the answer. Defined only if the client supports tasks. */
  readonly createTask: ((tool: ToolName, result: ToolResult) => Promise<CallToolResult | undefined>) | undefined;
}

/** Returns the tool's result, or the task for its job if the client supports tasks. */
async function invokeTool(
  tool: Tool,
  args: Arguments,
  call: ToolCall,
  { linkOf, createTask, runtime }: CallEnvironment,
): Promise<CallToolResult> {
  const result = await tool.invoke(args, call);
  runtime.completions.recordResult(result);
  const task = result.job && createTask?.(tool.name, result);
  // If no task can be created, even a client that supports tasks gets the result itself.
  const created = await task?.catch((error: unknown) =>
    runtime.log.warn({ tool: tool.name, reason: errorMessage(error) }, "no task could be made of this call"),
  );
  return created ?? toCallToolResult(result, linkOf);
}

/**
 * Runs one call. Returns a failure as a result with isError. If the user has to confirm the call, returns the question instead, and
 * the client repeats the call with the user's answer. Throws ProtocolError.
 */
export async function callTool(
  tool: Tool,
  args: unknown,
  environment: CallEnvironment,
): Promise<CallToolResult | InputRequiredResult> {
  const { runtime, request } = environment;
  const { log } = runtime;
  const { timing } = runtime.ports.service;
  const startedAt = timing.now();
  const { signal } = request;
  const callLog = createCallLog(log, tool.name, request, timing.now);
  let answer: CallToolResult;
  try {
    const { args: complete, workspaceId } = await completeArguments(tool, args, runtime);
    const limits = { signal, deadlineAt: startedAt + CALL_LIMIT_MS, onFailedAttempt: callLog.logFailedAttempt };
    const call = createToolCall(runtime, tool.name, limits, { workspaceId });
    const consent = await request.requestConsent(tool, complete, call);
    if ("ask" in consent) return consent.ask;
    if ("declined" in consent) {
      callLog.logResult(DECLINED);
      return DECLINED;
    }
    const confirmedCall: ToolCall = {
      ...call,
      report: request.report,
      proposedKey: consent.key,
      shownVersion: consent.shownVersion,
      followsTasks: environment.createTask !== undefined,
    };
    answer = withJournalNotice(
      await invokeTool(tool, complete, confirmedCall, environment),
      tool,
      runtime.hooks?.journalNotice?.(),
    );
    callLog.logResult(answer);
  } catch (error) {
    if (error instanceof ProtocolError) throw error;
    const thrown = factsOf(error);
    // Not an internal error: the journal may close before a canceled call ends. The client does not receive the answer.
    const facts = signal.aborted && thrown.kind === "internal" ? canceledFacts : withOfferedAdvice(thrown, runtime);
    answer = failureResult(tool.name, facts);
    callLog.logFailure(facts, error);
    if (tool.isWrite && isForbiddenByServer(facts))
      runtime.hooks?.onRefusal?.({ tool: tool.name, reason: "forbidden" });
  }
  return answer;
}
