// What a variable may be, as far as the server knows: for completion. Asked for briefly, lists kept briefly.
import type { ListedAction } from "../../actions/listing.ts";
import type { ServiceActions } from "../../actions/service-actions.ts";
import { BoundedMap } from "../../core/bounded-map.ts";
import type { Candidate, CandidateKind } from "../candidate.ts";
import type { Made, Tool } from "../define-tool.ts";
import type { ToolCall } from "../tool-call.ts";
import type { ToolName } from "../tool-names.ts";
import { createSeen } from "./seen-ids.ts";

/** For whom candidates are asked. */
export interface CompletionContext {
  /** The offered tools: their definitions say which values they list, what they make and what they act on. */
  readonly tools: readonly Tool[];
  readonly callOf: (tool: ToolName) => ToolCall;
  readonly workspaceId: string | undefined;
}

const RESOURCE_OF: Readonly<Partial<Record<CandidateKind, Made>>> = {
  jobId: "job",
  inputId: "input",
  operationId: "operation",
  requestId: "processing request",
};

const MAX_ACTIONS = 100;

/** By these the person who made it may know it; the service shows most of them to nobody. */
const NOTES = ["alias", "clientReference", "referenceId"];

const notesOf = (action: ListedAction): string =>
  NOTES.flatMap((name) => {
    const note = action.arguments[name];
    return typeof note === "string" ? [note] : [];
  }).join(" ");

/** What actions are about and what they have made, the latest first. */
function fromActions(
  kind: CandidateKind,
  actions: readonly ListedAction[],
  tools: readonly Tool[],
): readonly Candidate[] {
  const acting = new Map<string, Tool>(tools.map((tool) => [tool.name, tool]));
  return actions.flatMap((action): readonly Candidate[] => {
    const tool = acting.get(action.tool);
    if (tool === undefined || action.state === "rejected") return [];
    const name = notesOf(action);
    const isUnresolved = action.state !== "succeeded";
    const isMaker = tool.makes !== undefined && tool.makes === RESOURCE_OF[kind];
    return [
      ...(tool.traits?.aboutArgument === kind ? [{ value: action.about, name, isUnresolved: isUnresolved }] : []),
      ...(isMaker && action.resourceId !== undefined ? [{ value: action.resourceId, name }] : []),
    ];
  });
}

/** Each value once, with all its names; in their order, but what is unsettled first. */
function merged(candidates: readonly Candidate[]): readonly Candidate[] {
  const all = new Map<string, Candidate>();
  for (const { value, name = "", isUnresolved = false } of candidates) {
    const before = all.get(value);
    all.set(value, {
      value,
      name: `${before?.name ?? ""} ${name}`,
      isUnresolved: isUnresolved || before?.isUnresolved === true,
    });
  }
  const values = [...all.values()];
  return [...values.filter(({ isUnresolved }) => isUnresolved), ...values.filter(({ isUnresolved }) => !isUnresolved)];
}

/** Those that begin with what is typed, then those of which it says something. */
function fitting(candidates: readonly Candidate[], typed: string): readonly Candidate[] {
  const wanted = typed.toLowerCase();
  const begins = ({ value }: Candidate): boolean => value.toLowerCase().startsWith(wanted);
  const named = candidates.filter((each) => !begins(each) && each.name?.toLowerCase().includes(wanted));
  return [...candidates.filter(begins), ...named];
}

interface Known {
  readonly actions: ServiceActions;
  readonly now: () => number;
  /** Files that may be registered, where the service is in this process; their names are theirs. */
  readonly files: readonly Candidate[];
}

export type Candidates = ReturnType<typeof createCandidates>;

export function createCandidates({ actions, now, files }: Known) {
  const seen = createSeen();
  // One workspace is the rule; a client that asks for many must not fill the memory.
  const kept = new BoundedMap<string, { readonly found: readonly Candidate[]; readonly untilAt: number }>(100);

  /** What a tool lists, if one lists this kind. Throws Failure. */
  async function listed(kind: CandidateKind, { tools, callOf, workspaceId }: CompletionContext) {
    const lister = tools.find(({ candidates }) => candidates?.kind === kind);
    const list = lister?.candidates;
    if (!list) return [];
    const name = `${kind} ${workspaceId ?? ""}`;
    const entry = kept.get(name);
    if (entry !== undefined && entry.untilAt > now()) return entry.found;
    const found = (await list.list(callOf(lister.name), workspaceId)) ?? [];
    kept.set(name, { found, untilAt: now() + list.keptMs });
    return found;
  }

  async function acted(kind: CandidateKind, { tools }: CompletionContext): Promise<readonly Candidate[]> {
    const isActedOn = tools.some(
      ({ makes, traits }) => traits?.aboutArgument === kind || (makes !== undefined && makes === RESOURCE_OF[kind]),
    );
    return isActedOn
      ? fromActions(kind, (await actions.list({ state: undefined, limit: MAX_ACTIONS })).actions, tools)
      : [];
  }

  /** The file's name is a name of all that was made of it. */
  const withFileName = (candidate: Candidate): Candidate => {
    const file = files.find(({ value }) => candidate.name?.includes(value));
    return file === undefined ? candidate : { ...candidate, name: `${candidate.name} ${file.name}` };
  };

  return {
    /** An agent was given this result: it knows its ids. */
    note: seen.note,
    /** Values that begin as `typed` does, or whose name holds it. None when they cannot be asked for: a completion never fails. */
    async suggest(kind: CandidateKind, typed: string, context: CompletionContext): Promise<readonly string[]> {
      if (kind === "workspaceId") {
        const { workspaceId } = context;
        return workspaceId?.toLowerCase().startsWith(typed.toLowerCase()) ? [workspaceId] : [];
      }
      const none = (): readonly Candidate[] => [];
      const [fromList, fromJournal] = await Promise.all([
        listed(kind, context).catch(none),
        acted(kind, context).catch(none),
      ]);
      const known = kind === "referenceId" ? files : [];
      const found = merged([...fromList, ...seen.of(kind), ...fromJournal, ...known]).map(withFileName);
      return fitting(found, typed).map(({ value }) => value);
    },
  };
}
