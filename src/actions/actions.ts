// Agent actions: each POST happens exactly once, however often, from wherever and in whatever state of the world it is called.

import { Failure, reasonOf } from "../failure.ts";
import { type CallContext, type Timing, timeLeftMs } from "../service/attempts.ts";
import type { Attempts } from "../service/call.ts";
import type { EncodedRequest } from "../service/encode.ts";
import { canonicalArguments, hashOf } from "./canonical.ts";
import type { Journal, NewAction, Settlement, StoredAction } from "./journal.ts";
import { makeKey } from "./keys.ts";
import { type Outcome, readOutcome, settlementOf, writeOutcome } from "./outcome.ts";
import { type Begun, refuseOtherCommand, type ToldCall, tooOld, unknownOutcome, untold } from "./telling.ts";
import { JournalFailure, untellable, unwritten } from "./trouble.ts";

export interface Reply {
  readonly value: unknown;
  readonly drift: readonly string[];
  /** This is the answer of an earlier request, kept by the journal or the service. */
  readonly replayed: boolean;
}

/** One call of an action tool. */
export interface ActionCall extends ToldCall {
  /** Whose keys these are: base URL and client. */
  readonly service: string;
  readonly explicitKey: string | undefined;
  /** The key of a new action, where none is given: the one that a person has agreed to. */
  readonly proposedKey?: string | undefined;
  /** Makes the request of a new action; not asked for one that is resumed. */
  prepare(): Promise<EncodedRequest>;
  /** Sends the request under its key, with attempts of its own. Throws Failure. */
  send(request: EncodedRequest, key: string, attempts: Attempts): Promise<Reply>;
  /** The id of the resource that an answer is about. */
  resourceId(value: unknown): string | undefined;
  readonly context: CallContext;
  /** Runs `tell` once the answer has reached the client. */
  whenDelivered(tell: () => Promise<void>): void;
}

export interface ActionResult extends Reply {
  readonly idempotencyKey: string;
  /** Requests sent for this action so far, by whatever process. */
  readonly attempts: number;
}

export interface ActionsOptions {
  /** Throws Failure when the journal cannot be used: then nothing is sent. */
  readonly journal: () => Promise<Journal>;
  readonly timing: Timing;
  /** An action whose outcome is unknown for longer than this is not sent again by itself. */
  readonly resendMs: number;
  /** Certain that this owner of an action, another process, has gone. */
  readonly isGone: (owner: string) => boolean;
  readonly redact: (text: string) => string;
  /** Hears of a journal that failed after the fact. */
  readonly onTrouble: (reason: string) => void;
}

const POLL_MS = 200;
const BEAT_MS = 10_000;
/** Time kept back from a call's end to answer. */
const MARGIN_MS = 500;

const nameOf = ({ service, key }: Pick<StoredAction, "service" | "key">): string => JSON.stringify([service, key]);

export type Actions = ReturnType<typeof createActions>;

export function createActions({ journal, timing, resendMs, isGone, redact, onTrouble }: ActionsOptions) {
  /** Actions that this process is working on right now. */
  const underway = new Set<string>();
  let beat: NodeJS.Timeout | undefined;

  function keepBeating(open: Journal): void {
    beat ??= setInterval(() => {
      if (underway.size === 0) {
        clearInterval(beat);
        beat = undefined;
      } else open.heartbeat().catch((error: unknown) => onTrouble(reasonOf(error)));
    }, BEAT_MS).unref();
  }

  /** Its owner is gone, or is this process and could not write down how it ended. */
  const isAbandoned = (open: Journal, { owner }: StoredAction): boolean => owner === open.owner || isGone(owner);

  /** Tells a settled action again. */
  function replay(stored: StoredAction): ActionResult {
    if (stored.outcome === null) throw unknownOutcome("The journal holds no outcome of this action.");
    const outcome = readOutcome(stored.outcome);
    if ("failure" in outcome) throw new Failure({ ...outcome.failure, idempotencyKey: stored.key });
    return { ...outcome, attempts: stored.attempts, replayed: true, idempotencyKey: stored.key };
  }

  /** Once the answer has reached the client, the same arguments mean a new action. */
  const tellOnDelivery = (open: Journal, stored: StoredAction, call: ActionCall): void =>
    call.whenDelivered(async () => {
      await open.markDelivered(stored).catch((error: unknown) => onTrouble(reasonOf(error)));
    });

  /**
   * What happened is told even if it cannot be written: the action then stays open and untold, and a later call asks under
   * the same key. So it does where another process has taken the action over.
   */
  async function settle(open: Journal, stored: StoredAction, settlement: Settlement, call: ActionCall): Promise<void> {
    try {
      const settled = await open.settle(stored, settlement);
      if (settled && settlement.state !== "unknown") tellOnDelivery(open, settled, call);
    } catch (error) {
      onTrouble(reasonOf(error));
    }
  }

  /** Sends an action that this process has claimed, and writes down how it ended. */
  async function work(open: Journal, stored: StoredAction, call: ActionCall): Promise<ActionResult> {
    const idempotencyKey = stored.key;
    let attempts = stored.attempts;
    const written = (outcome: Outcome) => redact(writeOutcome(outcome));
    try {
      const request = { path: stored.path, ifMatch: stored.if_match, body: stored.body };
      const reply = await call.send(request, idempotencyKey, {
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
      const failure = error instanceof Failure ? error.with({ idempotencyKey }) : unknownOutcome(reasonOf(error));
      const outcome = written({ failure: failure.facts });
      await settle(open, stored, { ...settlementOf(failure), attempts, outcome, resourceId: undefined }, call);
      throw failure.facts.sideEffect === "unknown" ? stillUnknown(failure, stored, call) : failure;
    }
  }

  const isTooOld = (stored: Begun): boolean => timing.now() - stored.first_sent_at > resendMs;

  const stillUnknown = (failure: Failure, stored: Begun, call: ActionCall): Failure =>
    isTooOld(stored) ? tooOld(stored, call, resendMs) : untold(failure, stored, call, stored.first_sent_at + resendMs);

  /** Another call works on this action: its outcome is this call's, too. */
  async function wait(begun: Begun, call: ActionCall): Promise<undefined> {
    if (timeLeftMs(call.context, timing) < MARGIN_MS + POLL_MS)
      throw stillUnknown(unknownOutcome("Another call is still working on this very action."), begun, call);
    await timing.sleep(POLL_MS, call.context.signal);
    return undefined;
  }

  /** Takes an action with `take` and works on it. Undefined when it was not to be had. */
  async function own(
    open: Journal,
    name: string,
    call: ActionCall,
    take: () => Promise<StoredAction | undefined>,
  ): Promise<ActionResult | undefined> {
    underway.add(name);
    try {
      const claimed = await take();
      if (!claimed) return undefined;
      keepBeating(open);
      return await work(open, claimed, call);
    } finally {
      underway.delete(name);
    }
  }

  /** An action that is in the journal: told again, taken over, or waited for. Undefined when it has to be looked at anew. */
  async function resume(open: Journal, stored: StoredAction, call: ActionCall): Promise<ActionResult | undefined> {
    const name = nameOf(stored);
    if (stored.state === "succeeded" || (stored.state === "rejected" && stored.repeatable === 0)) {
      tellOnDelivery(open, stored, call);
      return replay(stored);
    }
    const abandoned = isAbandoned(open, stored);
    const isFree = stored.state !== "open" || abandoned || stored.lease_until < timing.now();
    if (isFree && !underway.has(name)) {
      if (stored.state !== "rejected" && isTooOld(stored)) throw tooOld(stored, call, resendMs);
      return await own(open, name, call, () => open.claim(stored, abandoned ? stored.owner : ""));
    }
    return await wait(stored, call);
  }

  async function begin(open: Journal, call: ActionCall, canonical: string): Promise<ActionResult | undefined> {
    const request = await call.prepare();
    const action: NewAction = {
      service: call.service,
      key: call.explicitKey ?? call.proposedKey ?? makeKey(),
      tool: call.tool,
      arguments: canonical,
      argumentsHash: hashOf(canonical),
      explicit: call.explicitKey !== undefined,
      ...request,
      bodyHash: hashOf(request.body),
    };
    const name = nameOf(action);
    if (underway.has(name)) return await wait({ key: action.key, first_sent_at: timing.now() }, call);
    const look = () => find(open, call, call.explicitKey, action.argumentsHash);
    return await own(open, name, call, () => open.insert(action).catch((error: unknown) => unwritten(error, look)));
  }

  /** The action that a call is about, if it is in the journal. */
  async function find(
    open: Journal,
    { service, tool, proposedKey }: Pick<ActionCall, "service" | "tool" | "proposedKey">,
    key: string | undefined,
    argumentsHash: string,
  ): Promise<StoredAction | undefined> {
    if (key !== undefined) return await open.find(service, key);
    const agreed = proposedKey === undefined ? undefined : await open.find(service, proposedKey);
    return agreed ?? (await open.findUntold(service, tool, argumentsHash));
  }

  async function attempt(open: Journal, call: ActionCall): Promise<ActionResult> {
    const canonical = canonicalArguments(call.arguments);
    let key = call.explicitKey;
    for (;;) {
      const stored = await find(open, call, key, hashOf(canonical));
      if (stored) {
        refuseOtherCommand(stored, call.tool, canonical);
        // From here on this call is about that one action, even if its outcome is told to another call meanwhile.
        key = stored.key;
      }
      // Undefined: another call was faster, and its action is the one to look at.
      const result = await (stored ? resume(open, stored, call) : begin(open, call, canonical));
      if (result) return result;
    }
  }

  return {
    /** Whether such a call would be about an action that is in the journal already. Throws Failure. */
    async isKnown(service: string, tool: string, args: ActionCall["arguments"], key: string | undefined) {
      const found = await find(await journal(), { service, tool }, key, hashOf(canonicalArguments(args)));
      return found !== undefined;
    },

    /** Runs one call to its end. Throws Failure; its `sideEffect` and `idempotencyKey` say how the action stands. */
    async perform(call: ActionCall): Promise<ActionResult> {
      try {
        return await attempt(await journal(), call);
      } catch (error) {
        const isJournal = error instanceof JournalFailure || !(error instanceof Failure);
        if (!isJournal || call.context.signal.aborted) throw error;
        // Whatever else can fail here is the journal, and before anything is sent.
        throw untellable(error, call.explicitKey);
      }
    },
  };
}
