// Decides which tools a configuration offers, and how tools/list shows them.
import type { Tool as ListedTool } from "@modelcontextprotocol/server";
import type { JsonSchema } from "../../contract/json-schema.ts";
import type { Config } from "../../core/config.ts";
import type { Tool } from "../../toolkit/define-tool.ts";
import { showsViews, viewUri } from "../../toolkit/views.ts";
import { annotationsOf } from "./annotations.ts";

type OfferableTool = Pick<Tool, "name" | "toolset" | "isWrite" | "view">;

const hasNoView = ({ view }: Pick<Tool, "view">): boolean => view === undefined;

const isOffered = (tool: OfferableTool, { toolsets, readOnly, apps }: Config): boolean =>
  toolsets.includes(tool.toolset) && (!readOnly || !tool.isWrite) && (apps !== "never" || hasNoView(tool));

/** Returns why a tool is not offered, for an agent that calls it anyway. */
export function reasonNotOffered(tool: Pick<Tool, "toolset" | "view">, { toolsets, apps }: Config): string {
  if (!toolsets.includes(tool.toolset)) return `its toolset ${tool.toolset} is not enabled (MIC_TOOLSETS)`;
  return apps === "never" && !hasNoView(tool)
    ? "this server has no views (MIC_APPS=never)"
    : "this server is read-only (MIC_READ_ONLY=1)";
}

export const offeredTools = <T extends OfferableTool>(tools: readonly T[], config: Config): readonly T[] =>
  tools.filter((tool) => isOffered(tool, config));

export const isOfferedTool = (name: string, tools: readonly OfferableTool[], config: Config): boolean =>
  tools.some((tool) => tool.name === name && isOffered(tool, config));

/** Returns the tools that a client lists. A tool with a view is left out, and costs no tokens, if the client shows no views. */
export const filterVisibleTools = <T extends OfferableTool>(
  offered: readonly T[],
  { apps }: Pick<Config, "apps">,
  capabilities: unknown,
): readonly T[] => (showsViews(apps, capabilities) ? offered : offered.filter(hasNoView));

/** Whether the server can serve jobs as tasks, which requires get_job. Only revision 2026-07-28 has tasks. */
export const serverSupportsTasks = (tools: readonly OfferableTool[], config: Config): boolean =>
  isOfferedTool("get_job", tools, config);

const isNameList = (value: unknown): value is readonly string[] => Array.isArray(value);

/** A default workspace makes `workspaceId` optional. */
function withOptionalWorkspace(schema: JsonSchema, workspaceId: string | undefined): JsonSchema {
  const { required } = schema;
  if (workspaceId === undefined || !isNameList(required)) return schema;
  return { ...schema, required: required.filter((name) => name !== "workspaceId") };
}

export const toListedTool = (tool: Tool, workspaceId: string | undefined): ListedTool => ({
  name: tool.name,
  title: tool.title,
  description: tool.description,
  inputSchema: { ...withOptionalWorkspace(tool.inputSchema(), workspaceId), type: "object" },
  outputSchema: { ...tool.outputSchema, type: "object" },
  annotations: annotationsOf(tool.effect),
  ...(tool.view !== undefined && { _meta: { ui: { resourceUri: viewUri(tool.view) } } }),
});
