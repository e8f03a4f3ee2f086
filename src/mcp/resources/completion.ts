// completion/complete: what an argument of a resource template or a prompt may be, as far as the server knows.
import type { Server } from "@modelcontextprotocol/server";
import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import { word } from "../../outside.ts";
import type { CandidateKind } from "../../toolkit/resources/candidate.ts";
import { findPrompt } from "../prompts.ts";
import type { Runtime } from "../runtime.ts";
import { offeredTools } from "../tools/offered-tools.ts";
import { toolCall } from "../tools/tool-call.ts";
import { offeredResources } from "./resources.ts";

/** A person is typing. */
const LIMIT_MS = 5_000;
const MAX_VALUES = 100;

interface Asked {
  readonly uri?: string;
  readonly name?: string;
}

function kindOf(ref: Asked, argument: string, runtime: Runtime): CandidateKind | undefined {
  if (ref.name !== undefined)
    return findPrompt(ref.name, runtime).arguments.find(({ name }) => name === argument)?.candidates;
  const resource = offeredResources(runtime).find(({ uri }) => uri === ref.uri);
  if (!resource)
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      `Nothing to complete: no resource template ${word(ref.uri ?? "")}.`,
    );
  return resource.variables[argument];
}

export function serveCompletion(server: Server, runtime: Runtime): void {
  server.setRequestHandler("completion/complete", async ({ params }, context) => {
    const { ref, argument } = params;
    const kind = kindOf(ref, argument.name, runtime);
    if (kind === undefined) return { completion: { values: [], total: 0, hasMore: false } };
    const deadlineAt = runtime.service.timing.now() + LIMIT_MS;
    const limits = { signal: context.mcpReq.signal, deadlineAt };
    const workspaceId =
      params.context?.arguments?.["workspaceId"] ?? (await runtime.workspaceId().catch(() => undefined));
    const values = await runtime.candidates(kind, argument.value, {
      tools: offeredTools(runtime.catalogue, runtime.config),
      callOf: (tool) => toolCall(runtime, tool, limits),
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
