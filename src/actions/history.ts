// This module reads which actions of a journal concern a resource, and the arguments of the actions that created resources.
import { failureFrom, isConfirmedCreator, type StoredAction } from "./action-row.ts";
import { DEDUPLICATION_WINDOW_MS } from "./deduplication-window.ts";
import { type Arguments, parseCanonicalArguments } from "./fingerprint.ts";
import type { Journal } from "./journal.ts";
import { type ListedAction, toListedAction } from "./listing.ts";

/** Maximum number of actions that are returned for one resource. */
const MAX_ACTIONS_PER_RESOURCE = 50;

/** An action on a resource, or the action that created it. */
export interface ResourceAction extends ListedAction {
  /** True if the API's last response was a rejection that it will most likely repeat. It does not show the effect of earlier attempts. */
  readonly isRefused: boolean;
  /** True within the deduplication window after its success was recorded or, without one, after its latest change. */
  readonly isRecent: boolean;
}

export function toResourceAction(stored: StoredAction): ResourceAction {
  const kind = failureFrom(stored.outcome)?.kind;
  return {
    ...toListedAction(stored),
    isRefused: kind === "precondition_failed" || kind === "conflict",
    isRecent: stored.read_at - (stored.resolved_at ?? stored.updated_at) < DEDUPLICATION_WINDOW_MS,
  };
}

/** The actions in the journal that concern a resource. */
export interface ResourceHistory {
  /** Up to 50 actions on the resource: unresolved, then succeeded, then rejected ones, each group latest first. */
  readonly actions: readonly ResourceAction[];
  /** The arguments of the action whose response shows that it created the resource. If there are several, the first one counts. */
  readonly creationArguments?: Arguments;
}

const rankOf = ({ state }: StoredAction): number => (state === "rejected" ? 2 : state === "succeeded" ? 1 : 0);

/** Returns the actions of one service that concern a resource. Throws Failure if the journal cannot be used. */
export async function readHistory(journal: Journal, service: string, id: string): Promise<ResourceHistory> {
  const found = await journal.listConcerning(service, id);
  const rows = found.toSorted((one, other) => rankOf(one) - rankOf(other) || other.created_at - one.created_at);
  const creation = rows.findLast((row) => row.resource_id === id && isConfirmedCreator(row));
  return {
    actions: rows
      .filter(({ about }) => about === id)
      .slice(0, MAX_ACTIONS_PER_RESOURCE)
      .map(toResourceAction),
    creationArguments: creation && parseCanonicalArguments(creation.arguments),
  };
}

/** Returns the arguments of the actions that created these resources, by the id of the resource, as far as the journal has them. */
export async function findCreationArguments(
  journal: Journal,
  service: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Arguments>> {
  const creators = await journal.listCreators(service, ids);
  // Sorted latest first: if several responses named the resource, the earliest action comes last and stays in the Map.
  const rows = creators.filter(isConfirmedCreator).toSorted((one, other) => other.created_at - one.created_at);
  return new Map(
    rows.flatMap((row) =>
      row.resource_id === null ? [] : [[row.resource_id, parseCanonicalArguments(row.arguments)]],
    ),
  );
}
