// This module suggests values for completion, from lists and the journal. It caches the lists for a short time.

import type { Actions } from "../../actions/actions.ts";
import type { ListedAction } from "../../actions/listing.ts";
import { BoundedMap } from "../../core/bounded-map.ts";
import type { ToolName } from "../../core/tool-names.ts";
import type { CompletionKind, CompletionValue, CreatedResourceKind, Tool } from "../define-tool.ts";
import type { ToolContext } from "../tool-context.ts";

export interface CompletionContext {
  /** The offered tools. Their definitions state which values they list, what they create and what they act on. */
  readonly tools: readonly Tool[];
  readonly contextOf: (tool: ToolName) => ToolContext;
  readonly workspaceId: string | undefined;
}

const CREATED_RESOURCE_BY_KIND: Readonly<Partial<Record<CompletionKind, CreatedResourceKind>>> = {
  jobId: "job",
  inputId: "input",
  operationId: "operation",
  requestId: "processing request",
};

const MAX_ACTIONS = 100;

/** Arguments by which the user may recognize an action. The API does not return most of them. */
const NOTES = ["alias", "clientReference", "referenceId"];

const notesOf = (action: ListedAction): string =>
  NOTES.flatMap((name) => {
    const note = action.arguments[name];
    return typeof note === "string" ? [note] : [];
  }).join(" ");

/** Returns the targets of actions, and the resources that they created, the latest first. */
function valuesFromActions(
  kind: CompletionKind,
  actions: readonly ListedAction[],
  tools: readonly Tool[],
): readonly CompletionValue[] {
  const acting = new Map<string, Tool>(tools.map((tool) => [tool.name, tool]));
  return actions.flatMap((action): readonly CompletionValue[] => {
    const tool = acting.get(action.tool);
    if (tool === undefined || action.state === "rejected") return [];
    const name = notesOf(action);
    const isUnresolved = action.state !== "succeeded";
    const isMaker = tool.makes !== undefined && tool.makes === CREATED_RESOURCE_BY_KIND[kind];
    return [
      ...(tool.traits?.targetArgument === kind ? [{ value: action.targetId, name, isUnresolved: isUnresolved }] : []),
      ...(isMaker && action.createdId !== undefined ? [{ value: action.createdId, name }] : []),
    ];
  });
}

/** Returns each value once, with all its names, in the given order, except that unresolved values come first. */
function mergeValues(values: readonly CompletionValue[]): readonly CompletionValue[] {
  const all = new Map<string, CompletionValue>();
  for (const { value, name = "", isUnresolved = false } of values) {
    const before = all.get(value);
    all.set(value, {
      value,
      name: `${before?.name ?? ""} ${name}`,
      isUnresolved: isUnresolved || before?.isUnresolved === true,
    });
  }
  const mergedValues = [...all.values()];
  return [
    ...mergedValues.filter(({ isUnresolved }) => isUnresolved),
    ...mergedValues.filter(({ isUnresolved }) => !isUnresolved),
  ];
}

/** Returns the values that start with the typed text, then those whose names contain it. */
function filterByTyped(values: readonly CompletionValue[], typed: string): readonly CompletionValue[] {
  const wanted = typed.toLowerCase();
  const startsWithTyped = ({ value }: CompletionValue): boolean => value.toLowerCase().startsWith(wanted);
  const named = values.filter((each) => !startsWithTyped(each) && each.name?.toLowerCase().includes(wanted));
  return [...values.filter(startsWithTyped), ...named];
}

interface CompletionSources {
  readonly actions: Actions;
  readonly now: () => number;
  /** Files that can be registered, with their names, if the API is emulated in this process. */
  readonly files: readonly CompletionValue[];
}

export type CompletionProvider = ReturnType<typeof createCompletionProvider>;

export function createCompletionProvider({ actions, now, files }: CompletionSources) {
  // Usually there is one workspace. The limit bounds the memory that a client with many requests can use.
  const cache = new BoundedMap<string, { readonly found: readonly CompletionValue[]; readonly untilAt: number }>(100);

  /** Returns the values of the tool that lists this kind, if there is one. Throws Failure. */
  async function listValues(kind: CompletionKind, { tools, contextOf, workspaceId }: CompletionContext) {
    const lister = tools.find(({ completions }) => completions?.kind === kind);
    const list = lister?.completions;
    if (!list) return [];
    const name = `${kind} ${workspaceId ?? ""}`;
    const entry = cache.get(name);
    if (entry !== undefined && entry.untilAt > now()) return entry.found;
    const found = (await list.list(contextOf(lister.name))) ?? [];
    cache.set(name, { found, untilAt: now() + list.ttlMs });
    return found;
  }

  async function readValuesFromJournal(
    kind: CompletionKind,
    { tools }: CompletionContext,
  ): Promise<readonly CompletionValue[]> {
    const isActedOn = tools.some(
      ({ makes, traits }) =>
        traits?.targetArgument === kind || (makes !== undefined && makes === CREATED_RESOURCE_BY_KIND[kind]),
    );
    return isActedOn
      ? valuesFromActions(kind, (await actions.list({ state: undefined, limit: MAX_ACTIONS })).actions, tools)
      : [];
  }

  return {
    /** Returns values that start with `typed`, or whose names contain it. Ignores sources that fail: a completion never fails. */
    async suggest(kind: CompletionKind, typed: string, context: CompletionContext): Promise<readonly string[]> {
      if (kind === "workspaceId") {
        const { workspaceId } = context;
        return workspaceId?.toLowerCase().startsWith(typed.toLowerCase()) ? [workspaceId] : [];
      }
      const none = (): readonly CompletionValue[] => [];
      const [fromList, fromJournal] = await Promise.all([
        listValues(kind, context).catch(none),
        readValuesFromJournal(kind, context).catch(none),
      ]);
      const known = kind === "referenceId" ? files : [];
      const found = mergeValues([...fromList, ...fromJournal, ...known]);
      return filterByTyped(found, typed).map(({ value }) => value);
    },
  };
}
