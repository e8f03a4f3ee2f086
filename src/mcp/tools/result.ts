// Converts a tool's result to the protocol's format, with its members in the order in which the SDK writes them.
import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/server";
import type { LinkedFile } from "../../toolkit/linked-files.ts";
import type { ToolResult } from "../../toolkit/results.ts";

/** Returns the link to the resource with this URI; undefined if there is none. */
export type ResourceLinkFactory = (uri: string) => ContentBlock | undefined;

export const driftMeta = (drift: readonly string[]) => (drift.length > 0 ? { _meta: { "mic-mcp/drift": drift } } : {});

/** Embeds a small file. Links a larger file if the client supports resource_link. */
function fileBlock({ url, fileName, contentType, bytes, content }: LinkedFile, supportsLinks: boolean): ContentBlock[] {
  if (content) return [{ type: "resource", resource: { uri: url, mimeType: contentType, ...content } }];
  if (!supportsLinks) return [];
  const size = bytes === undefined ? {} : { size: bytes };
  return [{ type: "resource_link", uri: url, name: fileName, mimeType: contentType, ...size }];
}

/** `linkOf` is undefined if the client does not support resource_link. */
export function toCallToolResult(
  { structured, text, link, file, drift }: ToolResult,
  linkOf: ResourceLinkFactory | undefined,
): CallToolResult {
  const linked = link === undefined ? undefined : linkOf?.(link);
  const attachments = file ? fileBlock(file, linkOf !== undefined) : linked ? [linked] : [];
  return {
    ...driftMeta(drift),
    content: [{ type: "text", text }, ...attachments],
    structuredContent: { ...structured },
  };
}
