// Converts a tool's result to the protocol's format, with its members in the order in which the SDK writes them.
import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/server";
import type { LinkedFile } from "../../toolkit/linked-files.ts";
import type { ToolResult } from "../../toolkit/results.ts";

/** Returns the link to the resource with this URI; undefined if there is none. */
export type ResourceLinkFactory = (uri: string) => ContentBlock | undefined;

/** Returns `_meta`, with the facts of a result that no model needs; empty if there are none. */
export function resultMeta({ drift, requestId, view }: Pick<ToolResult, "drift" | "requestId" | "view">) {
  const facts = {
    ...(drift.length > 0 && { "mic-mcp/drift": drift }),
    ...(requestId !== undefined && { "mic-mcp/requestId": requestId }),
    ...(view && { "mic-mcp/view": view }),
  };
  return Object.keys(facts).length > 0 ? { _meta: facts } : {};
}

/** Embeds a small file. Links a larger file if the client supports resource_link. */
function fileBlock({ url, fileName, contentType, bytes, content }: LinkedFile, supportsLinks: boolean): ContentBlock[] {
  if (content) return [{ type: "resource", resource: { uri: url, mimeType: contentType, ...content } }];
  if (!supportsLinks) return [];
  const size = bytes === undefined ? {} : { size: bytes };
  return [{ type: "resource_link", uri: url, name: fileName, mimeType: contentType, ...size }];
}

/** `linkOf` is undefined if the client does not support resource_link. */
export function toCallToolResult(result: ToolResult, linkOf: ResourceLinkFactory | undefined): CallToolResult {
  const { structured, text, link, file } = result;
  const linked = link === undefined ? undefined : linkOf?.(link);
  const attachments = file ? fileBlock(file, linkOf !== undefined) : linked ? [linked] : [];
  return {
    ...resultMeta(result),
    content: [{ type: "text", text }, ...attachments],
    structuredContent: { ...structured },
  };
}
