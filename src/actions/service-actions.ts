// This module provides the actions of one service, or of one caller of it, and hides the journal and the scope of the idempotency keys.
import { createHash } from "node:crypto";
import { Failure } from "../core/failure.ts";
import type { Hooks } from "../core/hooks.ts";
import type { ActionOutcome, Outcome, Telemetry } from "../telemetry/port.ts";
import type { ActionCall, ActionDescriptor, Actions, PerformedAction } from "./actions.ts";
import { type Arguments, parseCanonicalArguments } from "./fingerprint.ts";
import type { Journal } from "./journal.ts";
import {
  countUnresolved,
  findAction,
  type ListedAction,
  type ListingOptions,
  listActions,
  listUnresolvedActions,
  parseServiceName,
  toListedAction,
} from "./listing.ts";
import { failureFrom, type StoredAction, toStoredId } from "./store/action-row.ts";

/** Maximum number of actions that are read for one resource. */
const MAX_ACTIONS_PER_RESOURCE = 50;
/** More actions than any agent makes on one resource. */
const MAX_ROWS = 1_000;

/** An action on a resource, or the action that created it. */
export interface ResourceAction extends ListedAction {
  /** True if the API's last response was a rejection that it will most likely repeat. It does not show the effect of earlier attempts. */
  readonly isRefused: boolean;
}

function toResourceAction(stored: StoredAction): ResourceAction {
  const kind = failureFrom(stored.outcome)?.kind;
  return { ...toListedAction(stored), isRefused: kind === "precondition_failed" || kind === "conflict" };
}

/** The actions in the journal that concern a resource. */
export interface ResourceHistory {
  /** Up to 50 actions on the resource: unresolved, then succeeded, then rejected ones, each group latest first. */
  readonly actions: readonly ResourceAction[];
  /** The arguments of the action that created it. If several responses named it, the first action counts. */
  readonly creationArguments?: Arguments | undefined;
}

const rankOf = ({ state }: StoredAction): number => (state === "rejected" ? 2 : state === "succeeded" ? 1 : 0);

/** The description of an action in a call, without the service. */
export type CallerActionDescriptor = Omit<ActionDescriptor, "service">;

interface ServiceActionsOptions {
  readonly actions: Actions;
  /** Throws Failure. */
  readonly journal: () => Promise<Journal>;
  /** Returns JSON of [base URL, client id]. Throws Failure `not_configured`. */
  readonly serviceName: () => Promise<string>;
  readonly hooks?: Hooks;
  /** Removes the secrets of these credentials from outcomes, in addition to those that no outcome may contain. */
  readonly redact?: (text: string) => string;
}

/** The client id, and a hash of base URL, client id and caller. It is short, because four indexes contain it. */
function createCallerServiceName(service: string, caller: string): string {
  const [baseUrl, clientId] = parseServiceName(service);
  const hash = createHash("sha256").update(JSON.stringify([baseUrl, clientId, caller]));
  return JSON.stringify([clientId, hash.digest("base64url").slice(0, 22)]);
}

export type ServiceActions = ReturnType<typeof createServiceActions>;

/** Every method throws Failure if the journal cannot be used. */
export function createServiceActions({ actions, journal, serviceName, hooks, redact }: ServiceActionsOptions) {
  const caller = hooks?.caller;
  const callerServiceName =
    caller === undefined ? serviceName : async () => createCallerServiceName(await serviceName(), caller);
  // On a user's own machine, the list has the actions of all services if no service is configured.
  const listedServiceName = caller === undefined ? () => callerServiceName().catch(() => undefined) : callerServiceName;

  /** Returns the arguments of the actions that created these resources, by the id of the resource, as far as the journal has them. */
  async function findManyCreationArguments(ids: readonly string[]): Promise<ReadonlyMap<string, Arguments>> {
    if (ids.length === 0) return new Map();
    const { query, columns, read } = await journal();
    const places = ids.map((_, index) => `$${index + 2}`).join(", ");
    const sql = `SELECT ${columns} FROM actions WHERE service = $1 AND resource_id IN (${places})`;
    const rows = (await query(sql, [await callerServiceName(), ...ids.map(toStoredId)])).map(read);
    // The latest action comes first, so the first action replaces it, if several responses named the resource.
    rows.sort((one, other) => other.created_at - one.created_at);
    return new Map(
      rows.flatMap((row) =>
        row.resource_id === null ? [] : [[row.resource_id, parseCanonicalArguments(row.arguments)]],
      ),
    );
  }
  return {
    /** Runs one call until it ends. Throws Failure, whose `sideEffect` and `idempotencyKey` describe the state of the action. */
    perform: async (call: Omit<ActionCall, "service" | "hooks" | "redact">): Promise<PerformedAction> =>
      await actions.perform({ ...call, service: await callerServiceName(), hooks, redact }),
    /** Returns the action that such a call would resume or replay; undefined if there is none or it was rejected. */
    async findExisting(call: CallerActionDescriptor): Promise<ResourceAction | undefined> {
      const stored = await actions.findExisting({ ...call, service: await callerServiceName() });
      return stored && toResourceAction(stored);
    },
    /** Returns the arguments of the action with this key; undefined if this tool has no such action. */
    findArguments: async (tool: string, key: string) =>
      await actions.findArguments(await callerServiceName(), tool, key),
    /** Records an outcome that was determined without sending again. Returns false if it does not apply (see `Actions`). */
    recordOutcome: async (key: string, found: Parameters<Actions["recordOutcome"]>[2]) =>
      await actions.recordOutcome(await callerServiceName(), key, found, { hooks, redact }),
    /** Lists the unresolved actions, then the latest. */
    list: async (wanted: Pick<ListingOptions, "state" | "limit">) =>
      await listActions(await journal(), { ...wanted, service: await listedServiceName() }),
    /** Returns this caller's unresolved actions, oldest first. */
    listUnresolved: async () => await listUnresolvedActions(await journal(), await callerServiceName()),
    /** Returns the action with this key in its current state. */
    find: async (key: string) => await findAction(await journal(), await callerServiceName(), key),
    /** Counts the unresolved actions of all callers. */
    countUnresolved: async () => await countUnresolved(await journal()),
    async readHistory(id: string): Promise<ResourceHistory> {
      const { query, columns, read } = await journal();
      // Two lookups in one statement, because SQLite uses no index for OR. Sorted here: sorting in SQLite takes longer than the rest
      // of the query, and nearly every read of a job finds no row.
      const sql = `SELECT ${columns} FROM actions WHERE service = $1 AND about = $2
         UNION ALL SELECT ${columns} FROM actions WHERE service = $1 AND resource_id = $2 AND about <> $2 LIMIT ${MAX_ROWS}`;
      const rows = (await query(sql, [await callerServiceName(), toStoredId(id)])).map(read);
      rows.sort((one, other) => rankOf(one) - rankOf(other) || other.created_at - one.created_at);
      const creation = rows.findLast(({ resource_id }) => resource_id === id);
      return {
        actions: rows
          .filter(({ about }) => about === id)
          .slice(0, MAX_ACTIONS_PER_RESOURCE)
          .map(toResourceAction),
        creationArguments: creation && parseCanonicalArguments(creation.arguments),
      };
    },
    findManyCreationArguments,
  };
}

function toActionEnd(outcome: Outcome<PerformedAction>): ActionOutcome {
  if ("value" in outcome) {
    const { replayed, attempts } = outcome.value;
    return { state: "succeeded", replayed, attempts };
  }
  const sideEffect = outcome.error instanceof Failure ? outcome.error.facts.sideEffect : "unknown";
  const state = sideEffect === "done" ? "succeeded" : sideEffect === "none" ? "rejected" : "unknown";
  return { state, replayed: false };
}

/** Returns the same actions, and reports the state of each action at the end of a call to telemetry. */
export const withActionTelemetry = (actions: ServiceActions, telemetry: Telemetry): ServiceActions => ({
  ...actions,
  perform: (call) => telemetry.traceAction(call.tool, () => actions.perform(call), toActionEnd),
});
