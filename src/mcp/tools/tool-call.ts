// Creates the context of one use of a tool: for tools/call, resources/read, a completion or a task.
import type { CallContext } from "../../api-client/attempts.ts";
import type { UseTool } from "../../toolkit/resources/resource.ts";
import type { ToolCall } from "../../toolkit/tool-call.ts";
import type { ToolName } from "../../toolkit/tool-names.ts";
import type { Runtime } from "../runtime.ts";
import { toolNotFound } from "./failure-text.ts";

export const createToolCall = (
  runtime: Runtime,
  tool: ToolName,
  context: CallContext,
  options: Partial<Omit<ToolCall, "tool" | "context" | "isOffered" | "callActionTool">> = {},
): ToolCall => ({
  report: () => undefined,
  ...options,
  tool,
  context,
  isOffered: (name) => runtime.offered.has(name),
  async callActionTool(name, args, actContext) {
    const tool = runtime.tools.find((each) => each.name === name);
    return tool?.traits ? await tool.invoke(args, createToolCall(runtime, tool.name, actContext)) : undefined;
  },
});

/** Runs offered tools for a resource or a completion, which may only read. Throws Failure. */
export const createReadOnlyToolRunner =
  (runtime: Runtime, context: CallContext): UseTool =>
  async (name, args) => {
    const tool = runtime.offered.get(name);
    if (tool?.effect !== "read") throw toolNotFound(name);
    return await tool.invoke(args, createToolCall(runtime, name, context));
  };
