// A tool's result as the protocol shows it.
import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/server";
import type { ToolResult } from "../../toolkit/results.ts";
import { findResource, offeredResources } from "../resources/resources.ts";
import type { Runtime } from "../runtime.ts";

/** The resource that a result speaks of, as a link behind its text. */
function linked(link: string | undefined, runtime: Runtime): ContentBlock[] {
  const found = link === undefined ? undefined : findResource(offeredResources(runtime), link);
  if (link === undefined || !found) return [];
  const { name, title, mimeType } = found.resource;
  return [{ type: "resource_link", uri: link, name, title, mimeType }];
}

export const driftMeta = ({ drift }: ToolResult) => (drift.length > 0 ? { _meta: { "mic-mcp/drift": drift } } : {});

/** `takesLinks`: the client knows resource_link. */
export function shownResult(result: ToolResult, runtime: Runtime, takesLinks: boolean): CallToolResult {
  const { structured, text, link } = result;
  return {
    content: [{ type: "text", text }, ...(takesLinks ? linked(link, runtime) : [])],
    structuredContent: { ...structured },
    ...driftMeta(result),
  };
}
