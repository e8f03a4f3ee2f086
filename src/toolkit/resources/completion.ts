// What a variable may be, as far as the server knows: for completion. Asked for briefly and kept briefly.
import type { ServiceActions } from "../../actions/of-service.ts";
import { BoundedMap } from "../../bounded-map.ts";
import type { Made, Tool } from "../define-tool.ts";
import type { ToolCall } from "../tool-call.ts";
import type { ToolName } from "../tool-names.ts";
import type { Candidate, CandidateKind } from "./candidate.ts";

/** For whom candidates are asked. */
export interface CompletionContext {
  /** The offered tools: their definitions say which values they list, and what they make. */
  readonly tools: readonly Tool[];
  readonly callOf: (tool: ToolName) => ToolCall;
  readonly workspaceId: string | undefined;
}

const RESOURCE_OF: Readonly<Partial<Record<CandidateKind, keyof Made>>> = {
  jobId: "job",
  inputId: "input",
  operationId: "operation",
  requestId: "processing request",
};

/** Ids that this server's own actions have made; nothing lists inputs, operations and requests. */
async function idsMade(
  made: keyof Made,
  { tools }: CompletionContext,
  journal: ServiceActions,
): Promise<readonly Candidate[]> {
  const makers = new Set<string>(tools.filter(({ makes }) => makes === made).map(({ name }) => name));
  const actions = await journal.list({ state: "succeeded", limit: 100 });
  return actions.flatMap(({ tool, resourceId }) =>
    resourceId !== undefined && makers.has(tool) ? [{ value: resourceId }] : [],
  );
}

interface Asking {
  readonly keptMs: number;
  ask(): Promise<readonly Candidate[]>;
}

function askingFor(kind: CandidateKind, context: CompletionContext, actions: ServiceActions): Asking {
  const { tools, callOf, workspaceId } = context;
  if (kind === "workspaceId")
    return { keptMs: 0, ask: async () => (workspaceId === undefined ? [] : [{ value: workspaceId }]) };
  const made = RESOURCE_OF[kind];
  const lister = tools.find(({ candidates }) => candidates?.kind === kind);
  const list = lister?.candidates;
  return {
    keptMs: list?.keptMs ?? 0,
    async ask() {
      const listed = list && (await list.list(callOf(lister.name), workspaceId));
      if (listed) return listed;
      return made === undefined ? [] : await idsMade(made, context, actions);
    },
  };
}

function fits({ value, name = "" }: Candidate, typed: string): boolean {
  const wanted = typed.toLowerCase();
  return value.toLowerCase().startsWith(wanted) || name.toLowerCase().includes(wanted);
}

export type Candidates = ReturnType<typeof createCandidates>;

/** Values that begin as `typed` does, or whose name holds it. None when they cannot be asked for: a completion never fails. */
export function createCandidates(actions: ServiceActions, now: () => number) {
  // One workspace is the rule; a client that asks for many must not fill the memory.
  const kept = new BoundedMap<string, { readonly found: readonly Candidate[]; readonly untilAt: number }>(100);
  return async (kind: CandidateKind, typed: string, context: CompletionContext): Promise<readonly string[]> => {
    const { ask, keptMs } = askingFor(kind, context, actions);
    const name = `${kind} ${context.workspaceId ?? ""}`;
    let entry = kept.get(name);
    if (entry === undefined || entry.untilAt <= now()) {
      const found = await ask().catch(() => undefined);
      if (found === undefined) return [];
      entry = { found, untilAt: now() + keptMs };
      kept.set(name, entry);
    }
    return [...new Set(entry.found.filter((candidate) => fits(candidate, typed)).map(({ value }) => value))];
  };
}
