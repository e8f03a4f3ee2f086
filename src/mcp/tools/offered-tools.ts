// Decides which tools a configuration offers, and how tools/list shows them.
import type { Tool as ListedTool } from "@modelcontextprotocol/server";
import type { JsonSchema } from "../../contract/json-schema.ts";
import type { Config } from "../../core/config.ts";
import type { Tool } from "../../toolkit/define-tool.ts";
import { showsViews, viewUri } from "../../toolkit/views.ts";
import { annotationsOf } from "./annotations.ts";
import { omitUnofferedTools } from "./description.ts";
import { ESSENTIAL_TOOLS } from "./essential-tools.ts";

type OfferableTool = Pick<Tool, "name" | "toolset" | "isWrite" | "view">;

const hasNoView = ({ view }: Pick<Tool, "view">): boolean => view === undefined;

const isSelected = ({ name, toolset }: Pick<Tool, "name" | "toolset">, { toolsets }: Config): boolean =>
  toolsets.includes(toolset) || (toolsets.includes("essentials") && ESSENTIAL_TOOLS.has(name));

const isOffered = (tool: OfferableTool, config: Config): boolean =>
  isSelected(tool, config) && (!config.readOnly || !tool.isWrite) && (config.apps !== "never" || hasNoView(tool));

/** Returns why a tool is not offered, for an agent that calls it anyway. */
export function reasonNotOffered(tool: Pick<Tool, "name" | "toolset" | "view">, config: Config): string {
  if (!isSelected(tool, config)) return `its toolset ${tool.toolset} is not enabled (MIC_TOOLSETS)`;
  return config.apps === "never" && !hasNoView(tool)
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

/** `offered`: the names of the tools that a description may mention. */
export const toListedTool = (
  tool: Tool,
  workspaceId: string | undefined,
  offered: Pick<ReadonlySet<string>, "has">,
): ListedTool => ({
  name: tool.name,
  title: tool.title,
  description: omitUnofferedTools(tool.description, offered),
  inputSchema: { ...withOptionalWorkspace(tool.inputSchema(), workspaceId), type: "object" },
  outputSchema: { ...tool.outputSchema, type: "object" },
  annotations: annotationsOf(tool.effect),
  ...(tool.view !== undefined && { _meta: { ui: { resourceUri: viewUri(tool.view) } } }),
});
