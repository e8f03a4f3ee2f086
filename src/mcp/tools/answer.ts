// Converts a tool's result or failure to the answer to its call, with the members in the order in which the SDK writes them.
import type { CallToolResult, ContentBlock, Result } from "@modelcontextprotocol/server";
import { memberAt } from "../../contract/json.ts";
import { errorMessage, Failure, type FailureFacts, toReport } from "../../core/failure.ts";
import { ask, type Reader, raw, render, say, shows } from "../../core/text.ts";
import { formatToken, quote } from "../../core/untrusted-text.ts";
import { OTHER } from "../../telemetry/port.ts";
import type { AttachedFile } from "../../toolkit/files.ts";
import type { RenderedResult, ToolResult } from "../../toolkit/results.ts";
import type { ResourceReference } from "../../toolkit/uri.ts";

export type ResourceLinkFactory = (reference: ResourceReference) => ContentBlock | undefined;

/** Returns `_meta`, with the facts of a result that no model needs; undefined if there are none. */
export function resultMeta(
  { drift, requestId }: Pick<ToolResult, "drift" | "requestId">,
  view?: RenderedResult["view"],
) {
  if (drift.length === 0 && requestId === undefined && view === undefined) return undefined;
  return {
    ...(drift.length > 0 && { "mic-mcp/drift": drift }),
    ...(requestId !== undefined && { "mic-mcp/requestId": requestId }),
    ...(view && { "mic-mcp/view": view }),
  };
}

/** Embeds a small file. Links a larger file if the client supports resource_link. */
function fileBlock(
  { url, fileName, contentType, bytes, content }: AttachedFile,
  supportsLinks: boolean,
): ContentBlock[] {
  if (content) return [{ type: "resource", resource: { uri: url, mimeType: contentType, ...content } }];
  if (!supportsLinks) return [];
  const size = bytes === undefined ? {} : { size: bytes };
  return [{ type: "resource_link", uri: url, name: fileName, mimeType: contentType, ...size }];
}

/** `linkOf` is undefined if the client does not support resource_link. */
export function toCallToolResult(
  result: ToolResult,
  { structured, text, view }: RenderedResult,
  linkOf: ResourceLinkFactory | undefined,
): CallToolResult {
  const { link, file } = result;
  const linked = link === undefined ? undefined : linkOf?.(link);
  const attachments = file ? fileBlock(file, linkOf !== undefined) : linked ? [linked] : [];
  return {
    _meta: resultMeta(result, view),
    content: [{ type: "text", text }, ...attachments],
    structuredContent: { ...structured },
  };
}

const SIDE_EFFECTS: Readonly<Record<FailureFacts["sideEffect"], string>> = {
  none: "Nothing was changed.",
  done: "The action took effect.",
  unknown: "It is not known whether anything was changed.",
};

const MAX_FIELDS = 20;
/** Maximum length of a field's message in the contract, in characters. */
const MAX_MESSAGE = 1_000;

/** Returns one text for each invalid field. The API's messages are quoted. */
export const fieldTexts = ({ fieldErrors = [] }: FailureFacts, reader: Reader): readonly string[] =>
  fieldErrors.map(({ pointer, message }) => {
    const where = pointer === "" ? "(the whole)" : formatToken(pointer, MAX_MESSAGE);
    return `${where}: ${typeof message === "string" ? quote(message, MAX_MESSAGE) : render(message, reader)}`;
  });

/** A read changes nothing, and the message of an unknown outcome says that it is unknown. */
const isEffectStated = ({ kind, sideEffect }: FailureFacts, mayChange: boolean): boolean =>
  (sideEffect === "none" && !mayChange) || (sideEffect === "unknown" && kind === "outcome_unknown");

/** Renders a failure as a text, and as the facts that programs get in `_meta`. `mayChange`: false for a read, which need not say that nothing was changed. */
export function reportFailure(tool: string, facts: FailureFacts, reader: Reader, mayChange = true) {
  const report = toReport(facts, reader);
  const { kind, message, earlierSteps, next } = report;
  const { code, requestId, retryAfterSeconds, idempotencyKey: key, sideEffect } = facts;
  const codes = (facts.fieldErrors ?? []).map((field) => (field.code === code ? "" : ` [${formatToken(field.code)}]`));
  const fields = fieldTexts(facts, reader).map((text, index) => `- ${text}${codes[index]}`);
  const shown = fields.slice(0, MAX_FIELDS);
  if (fields.length > shown.length) shown.push(`- and ${fields.length - shown.length} more`);
  const lines = [
    `${tool} failed (${kind}): ${message}`,
    ...shown,
    earlierSteps ?? (isEffectStated(facts, mayChange) ? false : SIDE_EFFECTS[sideEffect]),
    retryAfterSeconds !== undefined && `Retry after ${retryAfterSeconds} s.`,
    key !== undefined && `idempotencyKey: ${formatToken(key)}`,
    code !== undefined && !shows(facts.message, code) && `code: ${formatToken(code)}`,
    requestId !== undefined && `requestId: ${formatToken(requestId)}`,
    next !== undefined && `Next: ${next}`,
  ];
  return { report, text: lines.filter((line) => line !== false).join("\n") };
}

/** Returns the kind of the failure that a result reports; undefined for a success. */
export function errorKindOf(result: Result): string | undefined {
  if (result["isError"] !== true) return undefined;
  const kind = memberAt(result, "_meta", "mic-mcp/error", "kind");
  return typeof kind === "string" ? kind : OTHER;
}

/** Creates the failure of a call to a tool that this server does not offer. */
export const toolNotFound = (name: string): Failure =>
  new Failure({
    kind: "not_found",
    message: say`${name} is not offered here.`,
    retryable: false,
    sideEffect: "none",
  });

/** A corrected call with the key of a rejected action would conflict. */
function withoutRejectedKey({ idempotencyKey: _, ...facts }: FailureFacts): FailureFacts {
  return facts;
}

/** Converts a thrown value to facts. An internal error is reported as such, with only its message. */
export function factsOf(thrown: unknown): FailureFacts {
  if (thrown instanceof Failure) {
    const { facts } = thrown;
    return facts.sideEffect === "none" && !facts.retryable ? withoutRejectedKey(facts) : facts;
  }
  return {
    kind: "internal",
    message: say`mic-mcp itself failed: ${raw(errorMessage(thrown))}.`,
    retryable: false,
    sideEffect: "unknown",
    next: say`${ask("Report")} this error of mic-mcp; its log on stderr has details at MIC_LOG_LEVEL=debug.`,
  };
}
