// Shows a tool's result as the protocol wants it, its members in the order in which the SDK writes them.
import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/server";
import type { ToolResult } from "../../toolkit/results.ts";

/** The link to the resource of this URI; undefined where there is none. */
export type LinkOf = (uri: string) => ContentBlock | undefined;

export const driftMeta = (drift: readonly string[]) => (drift.length > 0 ? { _meta: { "mic-mcp/drift": drift } } : {});

/** `linkOf`: absent where the client does not know resource_link. */
export function shownResult({ structured, text, link, drift }: ToolResult, linkOf: LinkOf | undefined): CallToolResult {
  const linked = link === undefined ? undefined : linkOf?.(link);
  return {
    ...driftMeta(drift),
    content: linked ? [{ type: "text", text }, linked] : [{ type: "text", text }],
    structuredContent: { ...structured },
  };
}
