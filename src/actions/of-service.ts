// The actions of one service, or of one caller at it. Who works with them need know neither the journal nor whose Idempotency-Keys these are.
import * as z from "zod/v4";
import type { ActionCall, Actions, PerformedAction } from "./actions.ts";
import type { Auditor } from "./audit.ts";
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
  perform(call: Omit<ActionCall, "service" | "wireKey" | "redact" | "auditor">): Promise<PerformedAction>;
  /** Whether this call is an action that the journal holds. Throws Failure. */
  isKnown(call: NamedAction): Promise<boolean>;
  /** The arguments of the action under this key. Throws Failure. */
  recall(tool: string, key: string): Promise<Arguments | undefined>;
  /** The journal's latest actions; of every service where this one has no name yet, but to a caller only his own. Throws Failure. */
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
  /** JSON [base URL, client id]. Throws Failure `not_configured`. */
  readonly serviceName: () => Promise<string>;
  /** Who calls, of several that share the client's credentials: no action is anybody else's. */
  readonly caller?: string;
  /** The key on the wire of one that this caller names (src/actions/wire-keys.ts). */
  readonly wireKey?: (key: string) => string;
  /** Takes out what is secret of these credentials; absent: what is taken out of every outcome is all. */
  readonly redact?: (text: string) => string;
  /** Where there is an audit: each end of an action is written into it. */
  readonly auditor?: Auditor;
}

const ServiceName = z.tuple([z.string(), z.string()]);

export function actionsOfService({
  actions,
  journal,
  serviceName,
  caller,
  wireKey,
  redact,
  auditor,
}: Parts): ServiceActions {
  const ownName =
    caller === undefined
      ? serviceName
      : async () => JSON.stringify([...ServiceName.parse(JSON.parse(await serviceName())), caller]);
  // A person at his own machine sees what there is, whatever he is logged in to.
  const listedName = caller === undefined ? () => ownName().catch(() => undefined) : ownName;
  return {
    perform: async (call) => await actions.perform({ ...call, service: await ownName(), wireKey, redact, auditor }),
    isKnown: async (call) => await actions.isKnown({ ...call, service: await ownName() }),
    recall: async (tool, key) => await actions.recall(await ownName(), tool, key),
    list: async (wanted) => await actions.list({ ...wanted, service: await listedName(), ...(redact && { redact }) }),
    overview: async () => await overviewOf(await journal()),
    about: async (resourceId) => await actionsAbout(await journal(), await ownName(), resourceId),
    argumentsOf: async (resourceId) => await createdBy(await journal(), await ownName(), resourceId),
  };
}
