// What a variable may be, as far as the server knows: for completion. Asked for briefly and kept briefly.
import * as z from "zod/v4";
import type { UseTool } from "../define-tool.ts";

export type CandidateKind = "jobId" | "versionId" | "code" | "workspaceId" | "inputId" | "operationId" | "requestId";

export interface Candidate {
  readonly value: string;
  /** What a person may type instead. */
  readonly name?: string;
}

export interface Situation {
  readonly useTool: UseTool;
  readonly workspaceId: string | undefined;
}

type Ask = (situation: Situation) => Promise<readonly Candidate[]>;

interface Source {
  readonly ask: Ask;
  readonly keptMs: number;
}

const States = z.object({ states: z.array(z.object({ code: z.string(), name: z.string() })) });
const Jobs = z.object({ data: z.array(z.object({ id: z.string() })) });
const Offers = z.object({ data: z.array(z.object({ versionId: z.string(), name: z.string() })) });
const Actions = z.object({ actions: z.array(z.object({ tool: z.string(), resourceId: z.string().optional() })) });

/** Ids that this server's own actions have made; nothing lists inputs, operations and requests. */
async function made({ useTool }: Situation, ...tools: readonly string[]): Promise<Candidate[]> {
  const { structured } = await useTool("list_actions", { state: "succeeded", limit: 100 });
  return Actions.parse(structured).actions.flatMap(({ tool, resourceId }) =>
    resourceId !== undefined && tools.includes(tool) ? [{ value: resourceId }] : [],
  );
}

const recentJobs: Ask = async (situation) => {
  const { useTool, workspaceId } = situation;
  if (workspaceId === undefined) return await made(situation, "submit_job", "retry_job");
  const { structured } = await useTool("list_jobs", { workspaceId, limit: 100 });
  return Jobs.parse(structured).data.map(({ id }) => ({ value: id }));
};

const offers: Ask = async ({ useTool, workspaceId }) => {
  if (workspaceId === undefined) return [];
  const { structured } = await useTool("list_recipes", { workspaceId, limit: 100 });
  return Offers.parse(structured).data.map(({ versionId, name }) => ({ value: versionId, name }));
};

const states: Ask = async ({ useTool }) => {
  const { structured } = await useTool("list_states", {});
  return States.parse(structured).states.map(({ code, name }) => ({ value: code, name }));
};

const SOURCES: Readonly<Record<CandidateKind, Source>> = {
  jobId: { ask: recentJobs, keptMs: 10_000 },
  versionId: { ask: offers, keptMs: 60_000 },
  code: { ask: states, keptMs: 600_000 },
  workspaceId: {
    ask: async ({ workspaceId }) => (workspaceId === undefined ? [] : [{ value: workspaceId }]),
    keptMs: 0,
  },
  inputId: { ask: (situation) => made(situation, "register_input"), keptMs: 0 },
  operationId: { ask: (situation) => made(situation, "cancel_job"), keptMs: 0 },
  requestId: { ask: (situation) => made(situation, "request_file_processing"), keptMs: 0 },
};

function fits({ value, name = "" }: Candidate, typed: string): boolean {
  const wanted = typed.toLowerCase();
  return value.toLowerCase().startsWith(wanted) || name.toLowerCase().includes(wanted);
}

export type Candidates = ReturnType<typeof createCandidates>;

/** Values that begin as `typed` does, or whose name holds it. None when they cannot be asked for: a completion never fails. */
export function createCandidates(now: () => number) {
  const kept = new Map<string, { readonly found: readonly Candidate[]; readonly untilAt: number }>();
  return async (kind: CandidateKind, typed: string, situation: Situation): Promise<readonly string[]> => {
    const { ask, keptMs } = SOURCES[kind];
    const name = `${kind} ${situation.workspaceId ?? ""}`;
    let entry = kept.get(name);
    if (entry === undefined || entry.untilAt <= now()) {
      const found = await ask(situation).catch(() => undefined);
      if (found === undefined) return [];
      entry = { found, untilAt: now() + keptMs };
      // One workspace is the rule; whoever asks for many must not fill the memory.
      if (kept.size >= 100) kept.clear();
      kept.set(name, entry);
    }
    return [...new Set(entry.found.filter((candidate) => fits(candidate, typed)).map(({ value }) => value))];
  };
}
