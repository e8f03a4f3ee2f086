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
import { memberAt } from "../../contract/json.ts";
import { abortFailure, errorMessage, Failure, type FailureFacts } from "../../core/failure.ts";
import { join, type Reader, say, type Text } from "../../core/text.ts";
import type { ToolName } from "../../core/tool-names.ts";
import { excerpt } from "../../core/untrusted-text.ts";
import { toArgumentsObject } from "../../toolkit/arguments.ts";
import type { ConfirmationRequest, Tool } from "../../toolkit/define-tool.ts";
import { agentReader, type ResultReader, renderResult, type ToolResult } from "../../toolkit/results.ts";
import type { Progress, ToolContext } from "../../toolkit/tool-context.ts";
import type { Log, Runtime } from "../runtime.ts";
import { factsOf, type ResourceLinkFactory, reportFailure, toCallToolResult } from "./answer.ts";
import type { Consent } from "./confirmation.ts";

/** Creates the context of one use of a tool: for tools/call, resources/read, a completion or a task. */
export const createToolContext = (
  runtime: Runtime,
  tool: ToolName,
  limits: CallContext,
  options: Partial<Pick<ToolContext, "report" | "workspaceId" | "proposedKey" | "shownVersion" | "followsTasks">> = {},
): ToolContext => ({
  // The spread objects come last: in Node 20, each property that is added after them takes 0.5 to 1 µs.
  tool,
  report: () => undefined,
  isOffered: (name) => runtime.offered.has(name),
  async callActionTool(name, args, ownLimits) {
    const tool = runtime.tools.find((each) => each.name === name);
    if (!tool?.traits) return undefined;
    // The limits may be the whole context of the calling tool.
    const limits = { ...ownLimits, tool: tool.name, report: () => undefined };
    return await tool.run(args, createToolContext(runtime, tool.name, limits));
  },
  ...runtime.ports,
  ...limits,
  ...options,
});

/** The agents that use this runtime. `workspaceId`: the default workspace. */
export const agentReaderOf = ({ offered }: Pick<Runtime, "offered">, workspaceId?: string): ResultReader =>
  agentReader({ isOffered: (name) => offered.has(name), workspaceId });

export interface CallRequest {
  readonly id: RequestId;
  readonly session?: string;
  readonly client?: string;
  readonly signal: AbortSignal;
  report(progress: Progress): void;
}

const MAX_CLIENT_NAME = 100;

/** Failures of this server or its journal, not of the call or the API. */
const OWN_FAILURES: ReadonlySet<FailureFacts["kind"]> = new Set(["internal", "unavailable"]);

/** Number of calls in this process. It identifies a call; request ids do not, because each client counts from the start. */
let callCount = 0;

/** `result`: undefined if the user declined. */
const correlationFieldsOf = ({ _meta }: CallToolResult, { action }: Partial<ToolResult> = {}) => ({
  key: action?.idempotencyKey,
  attempts: action?.attempts,
  requestId: memberAt(_meta, "mic-mcp/requestId"),
});

/** Arguments and results are not logged. Common fields connect the lines, and the requestId connects them to the API's log. */
function createCallLog(log: Log, tool: string, { id, session, client }: CallRequest, now: () => number) {
  const startedAt = now();
  callCount += 1;
  const call = callCount;
  const withCommonFields = (fields: object) => ({
    ...{ call, request: id, session, client: client && excerpt(client, MAX_CLIENT_NAME), tool },
    ...fields,
  });
  return {
    logFailedAttempt: (attempt: FailedAttempt): void => log.info(withCommonFields(attempt), "attempt failed"),
    logResult(answer: CallToolResult, result: ToolResult | undefined): void {
      if (!log.isLevelEnabled("info")) return;
      log.info(withCommonFields({ ms: now() - startedAt, ...correlationFieldsOf(answer, result) }), "tool call");
    },
    logFailure({ kind, status, requestId }: FailureFacts, error: unknown): void {
      const key = error instanceof Failure ? error.facts.idempotencyKey : undefined;
      const fields = withCommonFields({ ms: now() - startedAt, kind, status, key, requestId });
      // Only an internal error needs its stack: a journal that cannot be used fails every action, for as long as it lasts.
      const cause = kind === "internal" ? { err: error } : { reason: errorMessage(error) };
      if (OWN_FAILURES.has(kind)) log.error({ ...fields, ...cause }, "tool call failed");
      else log.info(fields, "tool call failed");
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
    const params = { progressToken, progress: last, message, total };
    context.mcpReq.notify({ method: "notifications/progress", params }).catch(() => undefined);
  };
}

/** A model cannot see whether its host has shown a question. */
const consentText = (wasAsked: boolean): Text =>
  wasAsked ? say`The user confirmed.` : say`The user was not asked to confirm.`;

const DECLINED_SUMMARY = "The user declined; nothing was sent. Do not call it again unless the user asks for it.";
const DECLINED: CallToolResult = {
  content: [{ type: "text", text: DECLINED_SUMMARY }],
  structuredContent: { summary: DECLINED_SUMMARY, declined: true },
};

function failureResult(
  { name, isWrite }: Pick<Tool, "name" | "isWrite">,
  facts: FailureFacts,
  reader: Reader,
): CallToolResult {
  const { report, text } = reportFailure(name, facts, reader, isWrite);
  return { _meta: { "mic-mcp/error": report }, content: [{ type: "text", text }], isError: true };
}

function onlyKeyOf({ idempotencyKey: key, ...others }: Arguments): string | undefined {
  return typeof key === "string" && Object.values(others).every((value) => value === null) ? key : undefined;
}

/** These tools need no configuration, because they read only the journal. */
const JOURNAL_ONLY_TOOLS: ReadonlySet<ToolName> = new Set(["list_actions", "show_actions"]);

/** Adds stored arguments to a call with only a key, and the default workspace. First reports a missing configuration. Throws Failure. */
async function completeArguments(
  tool: Tool,
  args: unknown,
  runtime: Runtime,
): Promise<{ readonly args: Arguments; readonly workspaceId: string | undefined }> {
  const { name, toolsets, argumentNames, byKey, toExact } = tool;
  const isJournalOnly = JOURNAL_ONLY_TOOLS.has(name);
  if (!isJournalOnly && toolsets[0] !== undefined) await runtime.requireConfigured?.(toolsets[0]);
  let complete: Arguments = toArgumentsObject(name, args);
  const takesWorkspace = argumentNames.includes("workspaceId");
  let workspaceId: string | undefined;
  if (!isJournalOnly && takesWorkspace) workspaceId = await runtime.workspaceId();
  // For a tool without the argument, the workspace only shortens the advice, so the call does not fail if the login cannot be read.
  else if (!isJournalOnly && toolsets.includes("jobs"))
    workspaceId = await runtime.workspaceId().catch(() => undefined);
  const key = byKey && onlyKeyOf(complete);
  const stored = byKey && key !== undefined && (await runtime.ports.actions.findArguments(byKey.tool, key));
  if (byKey && stored) complete = { ...byKey.argumentsOf(stored), idempotencyKey: key };
  const isDefault =
    takesWorkspace && workspaceId !== undefined && !Object.hasOwn(toExact(complete).arguments, "workspaceId");
  return { args: isDefault ? { ...complete, workspaceId } : complete, workspaceId };
}

const ACTION_EFFECTS: readonly Tool["effect"][] = ["create", "cancel", "retry"];

/** The journal's notice belongs to new and listed actions: it lacks actions after a restore, or will be deleted. A replayed action is in it. */
function noticeFor({ name, effect }: Tool, { action }: ToolResult, { journalNotice }: Runtime): Text | undefined {
  if (name === "list_actions") return journalNotice("list");
  return ACTION_EFFECTS.includes(effect) && action?.replayed !== true ? journalNotice("action") : undefined;
}

/** Who calls a tool, and how. */
export interface Caller extends Pick<ToolContext, "followsTasks"> {
  readonly limits: CallContext;
  report?(progress: Progress): void;
  /** Asks the user, unless the question proves needless; undefined if no user can be asked. Throws Failure and ProtocolError. */
  readonly requestConsent?:
    | ((question: ConfirmationRequest, args: Arguments, ctx: ToolContext) => Promise<Consent>)
    | undefined;
}

/** What a call has come to: its result, with the notice that belongs to it, or the user has not consented. */
export type Outcome =
  | Exclude<Consent, { readonly go: true }>
  | {
      readonly result: ToolResult;
      readonly workspaceId: string | undefined;
      readonly notice: Text | undefined;
      /** Whether the user was asked about this call; undefined if it needs no confirmation, or had it before. */
      readonly wasAsked: boolean | undefined;
    };

/** Every call of a tool by a client or from the command line goes through this function. Throws Failure and ProtocolError. */
export async function runTool(tool: Tool, given: unknown, runtime: Runtime, caller: Caller): Promise<Outcome> {
  const { limits, report = () => undefined, followsTasks = false, requestConsent } = caller;
  const { args, workspaceId } = await completeArguments(tool, given, runtime);
  let ctx = createToolContext(runtime, tool.name, limits, { workspaceId, report, followsTasks });
  const question = tool.confirmationFor?.(args);
  // Without the actions of the question, only its preparation would show whether there is anything to confirm.
  let wasAsked = question?.actions && !requestConsent ? false : undefined;
  if (question && requestConsent) {
    const consent = await requestConsent(question, args, ctx);
    if (!("go" in consent)) return consent;
    ctx = { ...ctx, proposedKey: consent.key, shownVersion: consent.shownVersion };
    if (consent.key !== undefined) wasAsked = true;
  }
  const result = await tool.run(args, ctx);
  if (result.isReplay === true) wasAsked = undefined;
  return { result, workspaceId, notice: noticeFor(tool, result, runtime), wasAsked };
}

export interface CallEnvironment extends Pick<Caller, "requestConsent"> {
  readonly runtime: Runtime;
  readonly request: CallRequest;
  /** Undefined in revisions before 2025-06-18, which lack resource_link: their clients would refuse the whole result. */
  readonly linkOf: ResourceLinkFactory | undefined;
  /** Returns the task for a result; undefined if the result itself is the answer. Defined only if the client supports tasks. */
  readonly createTask?: ((tool: ToolName, result: ToolResult) => Promise<CallToolResult | undefined>) | undefined;
}

/** A failure is a result with isError. A question to the user makes the client repeat the call with the answer. Throws ProtocolError. */
export async function callTool(
  tool: Tool,
  args: unknown,
  { runtime, request, requestConsent, linkOf, createTask }: CallEnvironment,
): Promise<CallToolResult | InputRequiredResult> {
  const { log } = runtime;
  const { timing } = runtime.ports.api;
  const { signal, report } = request;
  const callLog = createCallLog(log, tool.name, request, timing.now);
  const limits = {
    signal,
    deadlineAt: timing.clockMs() + CALL_LIMIT_MS,
    onFailedAttempt: callLog.logFailedAttempt,
  };
  let answer: CallToolResult;
  try {
    const caller = { limits, report, followsTasks: createTask !== undefined, requestConsent };
    const outcome = await runTool(tool, args, runtime, caller);
    if ("ask" in outcome) return outcome.ask;
    if ("declined" in outcome) answer = DECLINED;
    else {
      const { workspaceId, wasAsked, notice } = outcome;
      const result =
        wasAsked === undefined
          ? outcome.result
          : { ...outcome.result, summary: join([outcome.result.summary, consentText(wasAsked)]) };
      // If no task can be created, even a client that supports tasks gets the result itself.
      const task =
        tool.makes === "job"
          ? await createTask?.(tool.name, result).catch((error: unknown) =>
              log.warn({ tool: tool.name, reason: errorMessage(error) }, "no task could be made of this call"),
            )
          : undefined;
      answer =
        task ?? toCallToolResult(result, renderResult(result, agentReaderOf(runtime, workspaceId), notice), linkOf);
    }
    callLog.logResult(answer, "result" in outcome ? outcome.result : undefined);
  } catch (error) {
    if (error instanceof ProtocolError) throw error;
    const thrown = factsOf(error);
    // Not an internal error: the journal may close before a canceled call ends. The client does not receive the answer.
    const facts = signal.aborted && OWN_FAILURES.has(thrown.kind) ? abortFailure(signal).facts : thrown;
    answer = failureResult(tool, facts, agentReaderOf(runtime));
    callLog.logFailure(facts, error);
    runtime.onFailedCall(tool, facts);
  }
  return answer;
}
