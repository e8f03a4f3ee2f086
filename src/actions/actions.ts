// Agent actions: each POST happens exactly once, however often, from anywhere and whatever has failed meanwhile.

import { Failure, reasonOf } from "../failure.ts";
import { type CallContext, type Timing, timeLeftMs } from "../service/attempts.ts";
import type { Attempts } from "../service/call.ts";
import type { EncodedRequest } from "../service/encode.ts";
import type { Auditor } from "./audit.ts";
import { hashOf } from "./canonical.ts";
import { type ActionIdentity, identify } from "./identity.ts";
import type { Journal, NewAction, Settlement, StoredAction } from "./journal.ts";
import { makeKey } from "./keys.ts";
import { createLeases } from "./leases.ts";
import { type ListingOptions, listActions } from "./listing.ts";
import { createLookup, findAction, type NamedCall, whyDoubtful } from "./lookup.ts";
import { type ActionOutcome, readOutcome, settlementOf, writeOutcome } from "./outcome.ts";
import { JournalFailure, outcomeUnreadable, refusedForNone, rethrowUnlessWritten } from "./trouble.ts";
import {
  notDoneAgain,
  type RepeatableCall,
  refuseOtherCommand,
  type SentAction,
  tooOldToResend,
  unknownOutcome,
  withRepeatAdvice,
} from "./unknown-outcome.ts";
import { withOwnKey } from "./wire-keys.ts";

export interface Reply {
  readonly value: unknown;
  readonly drift: readonly string[];
  /** This is the answer of an earlier request, kept by the journal or the service. */
  readonly replayed: boolean;
}

/** One call of an action tool. */
export interface ActionCall extends RepeatableCall, NamedCall {
  /** Makes the request of a new action; not asked for one that is resumed. */
  prepare(): Promise<EncodedRequest>;
  /** Takes out what is secret of this call's credentials, beside what no outcome may hold. */
  readonly redact?: ((text: string) => string) | undefined;
  /** The key on the wire of one that the agent names, where that is another. */
  readonly wireKey?: ((key: string) => string) | undefined;
  /** For whom the end is written into the audit, where there is one. */
  readonly auditor?: Auditor | undefined;
  /** Sends the request under its key on the wire, with attempts of its own. Throws Failure. */
  send(request: EncodedRequest, key: string, attempts: Attempts): Promise<Reply>;
  /** The id of the resource that an answer is about. */
  resourceId(value: unknown): string | undefined;
  readonly context: CallContext;
}

export interface PerformedAction extends Reply {
  readonly idempotencyKey: string;
  /** Requests sent for this action so far, by any process. */
  readonly attempts: number;
  /** Says that nothing was done, where the agent may have meant to do it once more. */
  readonly notice?: string;
}

export interface ActionsOptions {
  /** Throws Failure when the journal cannot be used: then nothing is sent. */
  readonly journal: () => Promise<Journal>;
  readonly timing: Timing;
  /** An action whose outcome is unknown for longer than this is not sent again by itself. */
  readonly resendMs: number;
  /** Milliseconds that no change of the clock moves. */
  readonly monotonicMs: () => number;
  /** Certain that this owner of an action, another process, has gone. */
  readonly isGone: (owner: string) => boolean;
  readonly redact: (text: string) => string;
  /** Hears of a journal that failed after the fact. */
  readonly onTrouble: (reason: string) => void;
}

const POLL_MS = 200;
/** Time kept back from a call's end to answer. */
const MARGIN_MS = 500;

const nameOf = ({ service, key }: Pick<StoredAction, "service" | "key">): string => JSON.stringify([service, key]);

export type Actions = ReturnType<typeof createActions>;

export function createActions(options: ActionsOptions) {
  const { journal, timing, resendMs, monotonicMs, isGone, redact, onTrouble } = options;
  const leases = createLeases(monotonicMs);
  const lookup = createLookup(journal);

  /** Its owner is gone, or is this process and could not write down how it ended, or gives no sign of life any more. */
  const isAbandoned = (open: Journal, stored: StoredAction): boolean =>
    stored.owner === open.owner || isGone(stored.owner) || leases.standsStill(stored);

  /** The outcome of a settled action, given again. */
  function replay(stored: StoredAction, call: ActionCall): PerformedAction {
    if (stored.outcome === null) throw unknownOutcome("The journal holds no outcome of this action.");
    const outcome = readOutcome(stored.outcome);
    if ("failure" in outcome) throw new Failure({ ...outcome.failure, idempotencyKey: stored.key });
    const replayed = { ...outcome, attempts: stored.attempts, replayed: true, idempotencyKey: stored.key };
    return call.explicitKey === undefined
      ? { ...replayed, notice: notDoneAgain(stored.created_at, timing.now()) }
      : replayed;
  }

  /**
   * The agent gets the outcome even if it cannot be written: the action then stays open, and a later call asks under the same key.
   * The same holds where another process has taken the action over.
   */
  async function settle(open: Journal, stored: StoredAction, settlement: Settlement, call: ActionCall): Promise<void> {
    try {
      const settled = await open.settle(stored, settlement, call.auditor);
      if (settled && settlement.state !== "unknown") await open.markSent(settled);
    } catch (error) {
      onTrouble(reasonOf(error));
    }
  }

  /** Sends an action that this process has claimed, and writes down how it ended. */
  async function sendClaimed(open: Journal, stored: StoredAction, call: ActionCall): Promise<PerformedAction> {
    const idempotencyKey = stored.key;
    const wireKey = stored.wire_key === "" ? stored.key : stored.wire_key;
    let attempts = stored.attempts;
    const written = (outcome: ActionOutcome) => {
      const text = redact(writeOutcome(outcome));
      return call.redact?.(text) ?? text;
    };
    try {
      const request = { path: stored.path, ifMatch: stored.if_match, body: stored.body };
      const reply = await call.send(request, wireKey, {
        lost: stored.in_doubt === 1,
        onAttempt: () => {
          attempts += 1;
        },
      });
      const outcome = written({ value: reply.value, drift: reply.drift });
      const resourceId = call.resourceId(reply.value);
      await settle(open, stored, { state: "succeeded", repeatable: false, attempts, outcome, resourceId }, call);
      return { ...reply, attempts, idempotencyKey };
    } catch (error) {
      // A fault of our own in the middle: whether anything was sent is not known.
      const failure =
        error instanceof Failure ? withOwnKey(error, wireKey, idempotencyKey) : unknownOutcome(reasonOf(error));
      const outcome = written({ failure: failure.facts });
      await settle(open, stored, { ...settlementOf(failure), attempts, outcome, resourceId: undefined }, call);
      throw failure.facts.sideEffect === "unknown" ? stillUnknown(failure, stored, call) : failure;
    }
  }

  const isTooOld = (stored: SentAction): boolean => timing.now() - stored.first_sent_at > resendMs;

  const stillUnknown = (failure: Failure, stored: SentAction, call: ActionCall): Failure =>
    isTooOld(stored)
      ? tooOldToResend(stored, call, resendMs)
      : withRepeatAdvice(failure, stored, call, stored.first_sent_at + resendMs);

  /** Resolves when it is time to look again; throws `tooLate` where the call's time is up before. */
  async function pause({ context }: ActionCall, tooLate: () => Failure): Promise<undefined> {
    if (timeLeftMs(context, timing) < MARGIN_MS + POLL_MS) throw tooLate();
    await timing.sleep(POLL_MS, context.signal);
    return undefined;
  }

  /** Another call works on this action: its outcome is this call's, too. */
  const waitForOther = (begun: SentAction, call: ActionCall): Promise<undefined> =>
    pause(call, () => {
      const failure = unknownOutcome("Another call holds this very action and may still be working on it.");
      return stillUnknown(failure, begun, call);
    });

  /** Takes an action with `take` and works on it. Undefined when it was not to be had. */
  async function claimAndSend(
    open: Journal,
    name: string,
    call: ActionCall,
    take: () => Promise<StoredAction | undefined>,
  ): Promise<PerformedAction | undefined> {
    const { underway } = open;
    underway.add(name);
    try {
      const claimed = await take();
      if (!claimed) return undefined;
      underway.keepBeating((error) => onTrouble(reasonOf(error)));
      return await sendClaimed(open, claimed, call);
    } finally {
      underway.delete(name);
    }
  }

  /** An action that is in the journal: its outcome is given again, or it is taken over or waited for. Undefined when it has to be looked up again. */
  async function resume(open: Journal, stored: StoredAction, call: ActionCall): Promise<PerformedAction | undefined> {
    const name = nameOf(stored);
    if (stored.state === "succeeded" || (stored.state === "rejected" && stored.repeatable === 0)) {
      return replay(stored, call);
    }
    const isFree = stored.state !== "open" || isAbandoned(open, stored);
    if (isFree && !open.underway.has(name)) {
      if (stored.state !== "rejected" && isTooOld(stored)) throw tooOldToResend(stored, call, resendMs);
      return await claimAndSend(open, name, call, () => open.claim(stored, isFree));
    }
    return await waitForOther(stored, call);
  }

  async function startNew(
    open: Journal,
    call: ActionCall,
    identity: ActionIdentity,
    cameAt: number | undefined,
  ): Promise<PerformedAction | undefined> {
    const request = await call.prepare();
    const action: NewAction = {
      service: call.service,
      key: call.explicitKey ?? call.proposedKey ?? makeKey(),
      wireKey: call.explicitKey === undefined ? undefined : call.wireKey?.(call.explicitKey),
      tool: call.tool,
      arguments: identity.canonical,
      subjectHash: identity.subjectHash,
      workHash: identity.workHash,
      about: identity.about,
      explicit: call.explicitKey !== undefined,
      ...request,
      bodyHash: hashOf(request.body),
    };
    const name = nameOf(action);
    if (open.underway.has(name)) return await waitForOther({ key: action.key, first_sent_at: timing.now() }, call);
    const look = () => findAction(open, call, call.explicitKey, identity, cameAt);
    const sent = await claimAndSend(open, name, call, () =>
      open.insert(action, cameAt).catch((error: unknown) => rethrowUnlessWritten(error, look)),
    );
    // Refused as one that the journal has. If it shows none, that one has ended in between, or the journal contradicts itself.
    if (!sent && !(await look())) return await pause(call, refusedForNone);
    return sent;
  }

  async function attempt(open: Journal, call: ActionCall): Promise<PerformedAction> {
    const identity = identify(call.arguments, call.traits);
    let key = call.explicitKey;
    // Asked before the first look: however long it takes from here to a new action, nothing made meanwhile is overlooked.
    const cameAt = key === undefined ? await open.time() : undefined;
    for (;;) {
      const stored = await findAction(open, call, key, identity, cameAt);
      if (stored) {
        refuseOtherCommand(stored, call.tool, identity);
        // From here on this call is about that one action, even if its outcome is sent to another call meanwhile.
        key = stored.key;
      }
      const doubtful = stored ? undefined : await whyDoubtful(open, call, identity);
      if (doubtful) throw doubtful;
      // Undefined: another call was faster, and its action is the one to look at.
      const result = await (stored ? resume(open, stored, call) : startNew(open, call, identity, cameAt));
      if (result) return result;
    }
  }

  return {
    isKnown: lookup.isKnown,
    recall: lookup.recall,

    /** The journal's latest actions. Throws Failure. */
    list: async (
      wanted: Pick<ListingOptions, "service" | "state" | "limit"> & Partial<Pick<ListingOptions, "redact">>,
    ) => await listActions(await journal(), { redact, ...wanted }),

    /** Runs one call to its end. Throws Failure; its `sideEffect` and `idempotencyKey` say how the action stands. */
    async perform(call: ActionCall): Promise<PerformedAction> {
      try {
        return await attempt(await journal(), call);
      } catch (error) {
        const isJournal = error instanceof JournalFailure || !(error instanceof Failure);
        if (!isJournal || call.context.signal.aborted) throw error;
        // Whatever else can fail here is the journal, and before anything is sent.
        throw outcomeUnreadable(error, call.explicitKey);
      }
    },
  };
}
