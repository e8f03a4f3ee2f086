// One tools/call: arguments in, result or failure out, redacted at this one exit.
import {
  type CallToolResult,
  type ContentBlock,
  type InputRequiredResult,
  ProtocolError,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { argumentsObject, type Progress, type Tool } from "../catalogue/tool.ts";
import { isJsonObject } from "../contract/json.ts";
import { Failure, type FailureFacts } from "../failure.ts";
import { CALL_LIMIT_MS } from "../service/attempts.ts";
import type { Confirmation } from "./confirmation.ts";
import type { Deliveries } from "./deliveries.ts";
import { redacted } from "./exit.ts";
import { factsOf, failureText } from "./failures.ts";
import { findResource, offeredResources } from "./resources.ts";
import type { Runtime } from "./runtime.ts";
import { takesWorkspace } from "./surface.ts";
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

function keyIn(structured: Readonly<Record<string, unknown>>): string | undefined {
  const { action } = structured;
  const key = isJsonObject(action) ? action["idempotencyKey"] : undefined;
  return typeof key === "string" ? key : undefined;
}

async function withWorkspace(tool: Tool, given: Readonly<Record<string, unknown>>, runtime: Runtime) {
  if (given["workspaceId"] !== undefined || !takesWorkspace(tool)) return given;
  const workspaceId = await runtime.workspaceId();
  return workspaceId === undefined ? given : { ...given, workspaceId };
}

/** The resource that a result speaks of, as a link behind its text. */
function linked(link: string | undefined, runtime: Runtime): ContentBlock[] {
  const found = link === undefined ? undefined : findResource(offeredResources(runtime), link);
  if (link === undefined || !found) return [];
  const { name, title, mimeType } = found.resource;
  return [{ type: "resource_link", uri: link, name, title, mimeType }];
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
}

/** A question to the person is no answer yet: the client brings the same call again with theirs. */
export async function callTool(
  tool: Tool,
  args: unknown,
  situation: Situation,
): Promise<CallToolResult | InputRequiredResult> {
  const { runtime, deliveries, context, takesLinks, confirmation, capabilities } = situation;
  const { service, redactor, log } = runtime;
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
    const consent = await confirmation.seek(tool, given, context, capabilities);
    if ("ask" in consent) return redacted(consent.ask, redactor);
    const call = toolCall(
      runtime,
      tool.name,
      { signal, deadlineAt: startedAt + CALL_LIMIT_MS },
      { report: reporter(context), whenDelivered: (tell) => tells.push(tell), proposedKey: consent.key },
    );
    const { structured, text, drift, link } = await tool.invoke(given, call);
    result = {
      content: [{ type: "text", text }, ...(takesLinks ? linked(link, runtime) : [])],
      structuredContent: structured,
      ...(drift.length > 0 && { _meta: { "mic-mcp/drift": drift } }),
    };
    key = keyIn(structured);
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
  return redacted(result, redactor);
}
