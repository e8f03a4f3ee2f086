// The actions of one service, or of one caller at it. Code that uses them needs to know neither the journal nor whose Idempotency-Keys these are.
import * as z from "zod/v4";
import { Failure } from "../core/failure.ts";
import type { Hooks } from "../core/hooks.ts";
import type { ActionOutcome, Outcome, Telemetry } from "../telemetry/port.ts";
import type { ActionCall, ActionDescriptor, Actions, PerformedAction } from "./actions.ts";
import { parseCanonicalArguments } from "./canonical-json.ts";
import type { Arguments } from "./fingerprint.ts";
import type { Journal } from "./journal.ts";
import {
  type ActionList,
  type ActionStatus,
  countUnresolved,
  effectiveState,
  findAction,
  type ListingOptions,
  listActions,
  listUnresolvedActions,
  type UnresolvedCounts,
} from "./listing.ts";
import { isRefused } from "./outcome.ts";
import { type ActionState, type StoredAction, toStoredId } from "./store/action-row.ts";

/** Actions on one resource that are read at most. */
const MAX_ACTIONS_PER_RESOURCE = 50;

/** An action on a resource, or the one that made it. */
export interface ResourceAction {
  readonly tool: string;
  readonly state: ActionState;
  readonly idempotencyKey: string;
  readonly arguments: Arguments;
  readonly sentAt: string;
  /** The id of the resource that it made. */
  readonly resourceId?: string;
  /** The API's last answer was a refusal that leaves open what an earlier attempt did; it most likely refuses again. */
  readonly isRefused: boolean;
}

const toResourceAction = (stored: StoredAction): ResourceAction => ({
  tool: stored.tool,
  state: effectiveState(stored),
  idempotencyKey: stored.key,
  arguments: parseCanonicalArguments(stored.arguments),
  sentAt: new Date(stored.created_at).toISOString(),
  isRefused: isRefused(stored.outcome),
  ...(stored.resource_id !== null && { resourceId: stored.resource_id }),
});

/** An action as a call names it. */
export type CallerActionDescriptor = Omit<ActionDescriptor, "service">;

export interface ServiceActions {
  /** Runs one call to its end. Throws Failure; its `sideEffect` and `idempotencyKey` state how the action stands. */
  perform(call: Omit<ActionCall, "service" | "hooks" | "redact">): Promise<PerformedAction>;
  /** The action that such a call would continue or replay; undefined if it would run. Throws Failure. */
  findExisting(call: CallerActionDescriptor): Promise<ResourceAction | undefined>;
  /** The arguments of the action under this key. Throws Failure. */
  findArguments(tool: string, key: string): Promise<Arguments | undefined>;
  /** Records an outcome that was found out without sending again. Returns false if the action is not unresolved. Throws Failure. */
  recordOutcome(key: string, found: Parameters<Actions["recordOutcome"]>[2]): Promise<boolean>;
  /** Unresolved actions, then the latest; of every service if this one has no name yet, but a caller sees only their own. Throws Failure. */
  list(wanted: Pick<ListingOptions, "state" | "limit">): Promise<ActionList>;
  /** This caller's actions in progress or of unknown outcome, the oldest first. Throws Failure. */
  listUnresolved(): Promise<readonly ActionStatus[]>;
  /** The action under this key as it stands now. Throws Failure. */
  find(key: string): Promise<ActionStatus | undefined>;
  /** How many actions of all callers are unresolved. Throws Failure if the journal cannot be used. */
  countUnresolved(): Promise<UnresolvedCounts>;
  /** The actions on a resource: unresolved ones first, then successes, each the latest first. Throws Failure. */
  listByResource(resourceId: string): Promise<readonly ResourceAction[]>;
  /** The arguments of the action that made a resource, if it was one of ours. Throws Failure. */
  findCreationArguments(resourceId: string): Promise<Arguments | undefined>;
}

interface ServiceActionsOptions {
  readonly actions: Actions;
  /** Throws Failure. */
  readonly journal: () => Promise<Journal>;
  /** JSON [base URL, client id]. Throws Failure `not_configured`. */
  readonly serviceName: () => Promise<string>;
  readonly hooks?: Hooks;
  /** Removes the secrets of these credentials; absent: what is removed from every outcome is all. */
  readonly redact?: (text: string) => string;
}

const ServiceName = z.tuple([z.string(), z.string()]);

export function createServiceActions({
  actions,
  journal,
  serviceName,
  hooks,
  redact,
}: ServiceActionsOptions): ServiceActions {
  const caller = hooks?.caller;
  const callerServiceName =
    caller === undefined
      ? serviceName
      : async () => JSON.stringify([...ServiceName.parse(JSON.parse(await serviceName())), caller]);
  // A user at their own machine sees all actions, whatever they are logged in to.
  const listedServiceName = caller === undefined ? () => callerServiceName().catch(() => undefined) : callerServiceName;
  return {
    perform: async (call) => await actions.perform({ ...call, service: await callerServiceName(), hooks, redact }),
    async findExisting(call) {
      const stored = await actions.findExisting({ ...call, service: await callerServiceName() });
      return stored && toResourceAction(stored);
    },
    findArguments: async (tool, key) => await actions.findArguments(await callerServiceName(), tool, key),
    recordOutcome: async (key, found) =>
      await actions.recordOutcome(await callerServiceName(), key, found, { hooks, redact }),
    list: async (wanted) => await listActions(await journal(), { ...wanted, service: await listedServiceName() }),
    listUnresolved: async () => await listUnresolvedActions(await journal(), await callerServiceName()),
    find: async (key) => await findAction(await journal(), await callerServiceName(), key),
    countUnresolved: async () => await countUnresolved(await journal()),
    async listByResource(id) {
      const { query, columns, read } = await journal();
      const sql = `SELECT ${columns} FROM actions WHERE service = $1 AND about = $2
         ORDER BY CASE state WHEN 'rejected' THEN 2 WHEN 'succeeded' THEN 1 ELSE 0 END, created_at DESC LIMIT $3`;
      return (await query(sql, [await callerServiceName(), toStoredId(id), MAX_ACTIONS_PER_RESOURCE])).map((row) =>
        toResourceAction(read(row)),
      );
    },
    async findCreationArguments(id) {
      const { query, columns, read } = await journal();
      // The first one, if several answers named the resource.
      const sql = `SELECT ${columns} FROM actions WHERE service = $1 AND resource_id = $2 ORDER BY created_at LIMIT 1`;
      const [row] = await query(sql, [await callerServiceName(), toStoredId(id)]);
      return row && parseCanonicalArguments(read(row).arguments);
    },
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

/** The same actions; how each stood at the end of a call is reported to telemetry. */
export const withActionTelemetry = (actions: ServiceActions, telemetry: Telemetry): ServiceActions => ({
  ...actions,
  perform: (call) => telemetry.traceAction(call.tool, () => actions.perform(call), toActionEnd),
});
