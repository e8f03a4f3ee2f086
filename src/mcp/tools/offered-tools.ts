// Decides which tools a configuration offers, and how tools/list shows them.
import type { Tool as ListedTool } from "@modelcontextprotocol/server";
import type { Config } from "../../config.ts";
import type { JsonSchema } from "../../contract/json-schema.ts";
import type { Effect, Tool } from "../../toolkit/define-tool.ts";
import { annotationsOf } from "./annotations.ts";

type Gated = Pick<Tool, "name" | "toolset" | "effect">;

/** What changes nothing at the service: reads and downloads. A file of ours in the download folder is the user's own. */
const READ_ONLY: ReadonlySet<string> = new Set<Effect>(["read", "save", "export"]);

const isOffered = (tool: Gated, { toolsets, readOnly }: Config): boolean =>
  toolsets.includes(tool.toolset) && (!readOnly || READ_ONLY.has(tool.effect));

/** Why a tool is not offered, for an agent that calls it all the same. */
export const whyNotOffered = (tool: Pick<Tool, "toolset">, { toolsets }: Config): string =>
  toolsets.includes(tool.toolset)
    ? "this server is read-only (MIC_READ_ONLY=1)"
    : `its toolset ${tool.toolset} is not enabled (MIC_TOOLSETS)`;

export const offeredTools = <T extends Gated>(tools: readonly T[], config: Config): readonly T[] =>
  tools.filter((tool) => isOffered(tool, config));

export const isOfferedTool = (name: string, tools: readonly Gated[], config: Config): boolean =>
  tools.some((tool) => tool.name === name && isOffered(tool, config));

/** A server that can read jobs can serve them as tasks, in the era that has tasks. */
export const hasTasks = (tools: readonly Gated[], config: Config): boolean => isOfferedTool("get_job", tools, config);

const isNameList = (value: unknown): value is readonly string[] => Array.isArray(value);

/** A default workspace makes `workspaceId` optional. */
function withDefault(schema: JsonSchema, workspaceId: string | undefined): JsonSchema {
  const { required } = schema;
  if (workspaceId === undefined || !isNameList(required)) return schema;
  return { ...schema, required: required.filter((name) => name !== "workspaceId") };
}

export const listed = (tool: Tool, workspaceId: string | undefined): ListedTool => ({
  name: tool.name,
  title: tool.title,
  description: tool.description,
  inputSchema: { ...withDefault(tool.inputSchema(), workspaceId), type: "object" },
  outputSchema: { ...tool.outputSchema, type: "object" },
  annotations: annotationsOf(tool.effect),
});
