// Serves completion/complete: suggests values for the arguments of resource templates and prompts.
import type { Server } from "@modelcontextprotocol/server";
import { formatToken } from "../core/untrusted-text.ts";
import { COMPLETION_KINDS, type CompletionKind } from "../toolkit/define-tool.ts";
import { variableNames } from "../toolkit/uri.ts";
import { invalidParams } from "./invalid-params.ts";
import { findPrompt } from "./prompts.ts";
import type { Runtime } from "./runtime.ts";
import { createToolContext } from "./tools/call.ts";

/** The user waits for the suggestions while typing. */
const LIMIT_MS = 5_000;
const MAX_VALUES = 100;

type Reference = Partial<Readonly<Record<"uri" | "name", string>>>;

function argumentNamesOf(ref: Reference, runtime: Runtime): readonly string[] {
  if (ref.name !== undefined) return findPrompt(ref.name, runtime).arguments.map(({ name }) => name);
  const resource = runtime.resources.find(({ uri }) => uri === ref.uri);
  if (!resource) throw invalidParams(`Nothing to complete: no resource template ${formatToken(ref.uri ?? "")}.`);
  return variableNames(resource.uri);
}

function completionKindOf(ref: Reference, argument: string, runtime: Runtime): CompletionKind | undefined {
  if (!argumentNamesOf(ref, runtime).includes(argument)) return undefined;
  // A state is completed by its code.
  const name = argument === "state" ? "code" : argument;
  return COMPLETION_KINDS.find((kind) => kind === name);
}

export function serveCompletion(server: Server, runtime: Runtime): void {
  server.setRequestHandler("completion/complete", async ({ params }, context) => {
    const { ref, argument } = params;
    const kind = completionKindOf(ref, argument.name, runtime);
    if (kind === undefined) return { completion: { values: [], total: 0, hasMore: false } };
    const deadlineAt = runtime.ports.api.timing.clockMs() + LIMIT_MS;
    const limits = { signal: context.mcpReq.signal, deadlineAt };
    const workspaceId =
      params.context?.arguments?.["workspaceId"] ?? (await runtime.workspaceId().catch(() => undefined));
    const values = await runtime.completions.suggest(kind, argument.value, {
      tools: [...runtime.offered.values()],
      contextOf: (tool) => createToolContext(runtime, tool, limits, { workspaceId }),
      workspaceId,
    });
    const completion = {
      values: values.slice(0, MAX_VALUES),
      total: values.length,
      hasMore: values.length > MAX_VALUES,
    };
    return { completion };
  });
}
