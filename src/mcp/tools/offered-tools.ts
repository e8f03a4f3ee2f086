// Which tools a configuration offers, and how a listing shows them.
import type { Tool as ListedTool } from "@modelcontextprotocol/server";
import type { Config } from "../../config.ts";
import type { JsonSchema } from "../../contract/json-schema.ts";
import type { Tool } from "../../toolkit/define-tool.ts";
import { annotationsOf } from "./annotations.ts";

type Gated = Pick<Tool, "name" | "toolset" | "effect">;

/** Read-only keeps what changes nothing at the service: reads and downloads. */
const isOffered = (tool: Gated, { toolsets, readOnly }: Config): boolean =>
  toolsets.includes(tool.toolset) && (!readOnly || tool.effect === "read" || tool.effect === "save");

/** Why a tool of the catalogue is not offered, for an agent that calls it all the same. */
export const whyNotOffered = (tool: Tool, { toolsets }: Config): string =>
  toolsets.includes(tool.toolset)
    ? "this server is read-only (MIC_READ_ONLY=1)"
    : `its toolset ${tool.toolset} is not enabled (MIC_TOOLSETS)`;

export const offeredTools = <T extends Gated>(catalogue: readonly T[], config: Config): readonly T[] =>
  catalogue.filter((tool) => isOffered(tool, config));

export const isOfferedTool = (name: string, catalogue: readonly Gated[], config: Config): boolean =>
  catalogue.some((tool) => tool.name === name && isOffered(tool, config));

/** Reading jobs is all that it takes to have tasks, in the era that knows them. */
export const hasTasks = (catalogue: readonly Gated[], config: Config): boolean =>
  isOfferedTool("get_job", catalogue, config);

const isNameList = (value: unknown): value is readonly string[] => Array.isArray(value);

/** With a default workspace, `workspaceId` is not required. */
function withDefault(schema: JsonSchema, workspaceId: string | undefined): JsonSchema {
  const { required } = schema;
  if (workspaceId === undefined || !isNameList(required)) return schema;
  return { ...schema, required: required.filter((name) => name !== "workspaceId") };
}

export const listed = (tool: Tool, workspaceId: string | undefined): ListedTool => ({
  name: tool.name,
  title: tool.title,
  description: tool.description,
  inputSchema: { ...withDefault(tool.inputSchema, workspaceId), type: "object" },
  outputSchema: { ...tool.outputSchema, type: "object" },
  annotations: annotationsOf(tool.effect),
});
