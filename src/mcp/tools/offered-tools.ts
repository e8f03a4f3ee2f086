// Decides which tools a configuration offers, and how tools/list shows them.
import type { Tool as ListedTool } from "@modelcontextprotocol/server";
import { type JsonSchema, schemaOf } from "../../contract/json-schema.ts";
import type { Config } from "../../core/config.ts";
import type { Tool } from "../../toolkit/define-tool.ts";
import { omitUnofferedTools } from "../../toolkit/offered-text.ts";
import { showsViews, viewUri } from "../../toolkit/views.ts";
import { annotationsOf } from "./annotations.ts";
import { ESSENTIAL_TOOLS } from "./essential-tools.ts";

export type OfferableTool = Pick<Tool, "name" | "toolsets" | "effect" | "view">;

const hasNoView = ({ view }: Pick<Tool, "view">): boolean => view === undefined;

const isSelected = ({ name, toolsets: own }: OfferableTool, { toolsets }: Config): boolean =>
  own.some((toolset) => toolsets.includes(toolset)) || (toolsets.includes("essentials") && ESSENTIAL_TOOLS.has(name));

const isOffered = (tool: OfferableTool, config: Config): boolean =>
  isSelected(tool, config) &&
  (!config.readOnly || tool.effect === "read") &&
  (config.apps !== "never" || hasNoView(tool));

/** Returns why a tool is not offered, for an agent that calls it anyway. */
export function reasonNotOffered(tool: OfferableTool, config: Config): string {
  if (!isSelected(tool, config)) return `its toolset ${tool.toolsets.join(" or ")} is not enabled (MIC_TOOLSETS)`;
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

/** An argument that names a tool lists only tools that are offered. */
function withOfferedChoices(schema: JsonSchema, isOffered: (name: string) => boolean): JsonSchema {
  const { tool, ...others } = schemaOf(schema["properties"]);
  const choices = schemaOf(tool)["enum"];
  if (!isNameList(choices)) return schema;
  return { ...schema, properties: { tool: { ...schemaOf(tool), enum: choices.filter(isOffered) }, ...others } };
}

/** `isOffered`: whether a text may mention the tool. */
export const toListedTool = (
  tool: Tool,
  workspaceId: string | undefined,
  isOffered: (name: string) => boolean,
): ListedTool => ({
  name: tool.name,
  title: tool.title,
  description: omitUnofferedTools(tool.description, isOffered),
  inputSchema: {
    ...withOfferedChoices(withOptionalWorkspace(tool.inputSchema(), workspaceId), isOffered),
    type: "object",
  },
  outputSchema: { ...tool.outputSchema, type: "object" },
  annotations: annotationsOf(tool.effect),
  ...(tool.view !== undefined && { _meta: { ui: { resourceUri: viewUri(tool.view) } } }),
});
