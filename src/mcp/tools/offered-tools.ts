// Decides which tools a configuration offers, and how tools/list shows them.
import type { Tool as ListedTool, ToolAnnotations } from "@modelcontextprotocol/server";
import { type JsonSchema, schemaOf } from "../../contract/json.ts";
import { type Config, UsageError } from "../../core/config.ts";
import { fixed, render } from "../../core/text.ts";
import { TOOL_NAMES, type ToolName } from "../../core/tool-names.ts";
import type { Effect, Tool } from "../../toolkit/define-tool.ts";
import { agentReader } from "../../toolkit/results.ts";
import { declaresViews, viewUri } from "../../toolkit/views.ts";

/** The tools of the toolset `essentials`: those that run jobs and answer geography questions in the fewest calls. */
const ESSENTIAL_TOOLS: ReadonlySet<ToolName> = new Set<ToolName>([
  "download_asset",
  "list_recipes",
  "get_recipe",
  "list_jobs",
  "get_job",
  "get_usage",
  "find_district",
  "rank_divisions",
  "resolve_actions",
  "run_job",
  "run_jobs",
  "retry_jobs",
  "cancel_jobs",
  "wait_for_jobs",
  "save_table",
]);

export type OfferableTool = Pick<Tool, "name" | "toolsets" | "effect" | "view">;

const isSelected = ({ name, toolsets: own }: OfferableTool, { toolsets, tools, excludedTools }: Config): boolean =>
  !excludedTools.includes(name) &&
  (tools.includes(name) ||
    own.some((toolset) => toolsets.includes(toolset)) ||
    (toolsets.includes("essentials") && ESSENTIAL_TOOLS.has(name)));

/** Throws UsageError if MIC_TOOLS or MIC_EXCLUDE_TOOLS contains a name that no tool has. */
export function checkToolNames({ tools, excludedTools }: Config): void {
  const known: ReadonlySet<string> = new Set(TOOL_NAMES);
  const unknown = [...tools, ...excludedTools].filter((name) => !known.has(name));
  if (unknown.length > 0)
    throw new UsageError(
      `MIC_TOOLS and MIC_EXCLUDE_TOOLS name unknown tools: ${unknown.join(", ")}. The tools are: ${TOOL_NAMES.join(", ")}.`,
    );
}

export function reasonNotOffered(tool: OfferableTool, config: Config): string {
  if (config.excludedTools.includes(tool.name)) return "it is excluded (MIC_EXCLUDE_TOOLS)";
  if (!isSelected(tool, config)) return `its toolset ${tool.toolsets.join(" or ")} is not enabled (MIC_TOOLSETS)`;
  return "this server is read-only (MIC_READ_ONLY=1)";
}

export const offeredTools = <T extends OfferableTool>(tools: readonly T[], config: Config): readonly T[] =>
  tools.filter((tool) => isSelected(tool, config) && (!config.readOnly || tool.effect === "read"));

/** Returns the tools that a client lists. A tool with a view is left out, and costs no tokens, if the client shows no views. */
export const filterVisibleTools = <T extends OfferableTool>(
  offered: readonly T[],
  capabilities: unknown,
): readonly T[] => (declaresViews(capabilities) ? offered : offered.filter(({ view }) => view === undefined));

const isNameList = (value: unknown): value is readonly string[] => Array.isArray(value);

function withOptionalWorkspace(schema: JsonSchema, workspaceId: string | undefined): JsonSchema {
  const { required } = schema;
  if (workspaceId === undefined || !isNameList(required)) return schema;
  return { ...schema, required: required.filter((name) => name !== "workspaceId") };
}

/** Arguments mention only tools that are offered, in their descriptions and as values of `source`. */
function withOfferedArguments(schema: JsonSchema, isOffered: (name: string) => boolean): JsonSchema {
  const adapt = (name: string, keyword: string, value: unknown): unknown => {
    // A host that checks formats would refuse a date without a time.
    if (keyword === "format") return undefined;
    if (keyword === "description" && typeof value === "string")
      return render(fixed(value), agentReader({ isOffered })) || undefined;
    return name === "source" && keyword === "enum" && isNameList(value) ? value.filter(isOffered) : value;
  };
  const properties = Object.entries(schemaOf(schema["properties"])).map(([name, property]) => {
    const keywords = Object.entries(schemaOf(property)).map(([keyword, value]) => [
      keyword,
      adapt(name, keyword, value),
    ]);
    return [name, Object.fromEntries(keywords.filter(([, value]) => value !== undefined))];
  });
  return { ...schema, properties: Object.fromEntries(properties) };
}

/** Claude Code reads the members of `anthropic/`. A host that searches for tools loads only tools with `alwaysLoad` at once. */
function listedMeta({ view, searchHint, alwaysLoad }: Tool) {
  const _meta = {
    ...(view !== undefined && { ui: { resourceUri: viewUri(view) } }),
    ...(searchHint !== undefined && { "anthropic/searchHint": searchHint }),
    ...(alwaysLoad && { "anthropic/alwaysLoad": true }),
  };
  return Object.keys(_meta).length > 0 && { _meta };
}

/** Annotations follow from `effect`, so that they cannot contradict each other. */
const HINTS: Readonly<Record<Effect, Omit<ToolAnnotations, "title">>> = {
  read: { readOnlyHint: true, destructiveHint: false, idempotentHint: true },
  save: { readOnlyHint: false, destructiveHint: false, idempotentHint: false },
  create: { readOnlyHint: false, destructiveHint: false, idempotentHint: false },
  cancel: { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
  // RESTART discards finished stages.
  retry: { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
};

/** `isOffered`: whether a text may mention the tool. */
export const toListedTool = (
  tool: Tool,
  workspaceId: string | undefined,
  isOffered: (name: string) => boolean,
): ListedTool => ({
  name: tool.name,
  title: tool.title,
  description: render(fixed(tool.description), agentReader({ isOffered })),
  inputSchema: {
    ...withOfferedArguments(withOptionalWorkspace(tool.inputSchema(), workspaceId), isOffered),
    type: "object",
  },
  ...(tool.outputSchema && { outputSchema: { ...tool.outputSchema, type: "object" } }),
  annotations: { ...HINTS[tool.effect], openWorldHint: true },
  ...listedMeta(tool),
});
