// The actions of one service. Who works with them need know neither the journal nor whose Idempotency-Keys these are.
import type { ActionCall, Actions, PerformedAction } from "./actions.ts";
import { type ActionAbout, actionsAbout, createdBy } from "./history.ts";
import type { Arguments } from "./identity.ts";
import type { Journal } from "./journal.ts";
import type { ListedAction, ListingOptions } from "./listing.ts";
import type { NamedCall } from "./lookup.ts";
import { type JournalOverview, overviewOf } from "./overview.ts";

/** An action as a call names it. */
export type NamedAction = Omit<NamedCall, "service">;

export interface ServiceActions {
  /** Runs one call to its end. Throws Failure; its `sideEffect` and `idempotencyKey` say how the action stands. */
  perform(call: Omit<ActionCall, "service">): Promise<PerformedAction>;
  /** Whether this call is an action that the journal holds. Throws Failure. */
  isKnown(call: NamedAction): Promise<boolean>;
  /** The arguments of the action under this key. Throws Failure. */
  recall(tool: string, key: string): Promise<Arguments | undefined>;
  /** An agent has named these: it has heard of the actions that they are keys or results of. */
  hear(names: readonly string[]): void;
  /** The journal's latest actions; of every service where this one has no name yet. Throws Failure. */
  list(wanted: Pick<ListingOptions, "state" | "limit">): Promise<readonly ListedAction[]>;
  /** How much of the journal is not settled, whoever's it is. Throws Failure where it cannot be used. */
  overview(): Promise<JournalOverview>;
  /** What was done about a resource. Throws Failure. */
  about(resourceId: string): Promise<readonly ActionAbout[]>;
  /** The arguments of the action that made a resource, if it was one of ours. Throws Failure. */
  argumentsOf(resourceId: string): Promise<Arguments | undefined>;
}

interface Parts {
  readonly actions: Actions;
  /** Throws Failure. */
  readonly journal: () => Promise<Journal>;
  /** Base URL and client. Throws Failure `not_configured`. */
  readonly serviceName: () => Promise<string>;
  readonly now: () => number;
}

export const actionsOfService = ({ actions, journal, serviceName, now }: Parts): ServiceActions => ({
  perform: async (call) => await actions.perform({ ...call, service: await serviceName() }),
  isKnown: async (call) => await actions.isKnown({ ...call, service: await serviceName() }),
  recall: async (tool, key) => await actions.recall(await serviceName(), tool, key),
  hear: (names) => actions.hear(serviceName, names),
  list: async (wanted) => await actions.list({ ...wanted, service: await serviceName().catch(() => undefined) }),
  overview: async () => await overviewOf(await journal(), now()),
  about: async (resourceId) => await actionsAbout(await journal(), await serviceName(), resourceId, now()),
  argumentsOf: async (resourceId) => await createdBy(await journal(), await serviceName(), resourceId),
});
