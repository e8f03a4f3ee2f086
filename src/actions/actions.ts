// Agent actions: each POST happens exactly once, however often, from wherever and in whatever state of the world it is called.

import { setTimeout as sleep } from "node:timers/promises";
import { Failure, type FailureFacts, reasonOf } from "../failure.ts";
import { type CallContext, type Timing, timeLeftMs } from "../service/attempts.ts";
import type { EncodedRequest } from "../service/encode.ts";
import { canonicalArguments, differingArguments, hashOf } from "./canonical.ts";
import type { Journal, NewAction, Settlement, StoredAction } from "./journal.ts";
import { makeKey } from "./keys.ts";
import { journalFailure } from "./open.ts";
import { type Outcome, readOutcome, settlementOf, writeOutcome } from "./outcome.ts";
import { isGone, ownName } from "./owner.ts";

export interface Reply {
  readonly value: unknown;
  readonly drift: readonly string[];
  /** This is the answer of an earlier request, kept by the journal or the service. */
  readonly replayed: boolean;
}

/** One call of an action tool. */
export interface ActionCall {
  /** Whose keys these are: base URL and client. */
  readonly service: string;
  readonly tool: string;
  /** The arguments that say what is meant, without the key. */
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly explicitKey: string | undefined;
  /** Makes the request of a new action; not asked for one that is resumed. */
  prepare(): Promise<EncodedRequest>;
  /** Sends the request under its key, with attempts of its own, each announced to `onAttempt`. Throws Failure. */
  send(request: EncodedRequest, key: string, onAttempt: () => void): Promise<Reply>;
  /** The id of the resource that an answer is about. */
  resourceId(value: unknown): string | undefined;
  /** How an agent finds out whether it happened, where the service may have forgotten the key. */
  readonly findOut: string;
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
  readonly redact: (text: string) => string;
  /** Hears of a journal that failed after the fact. */
  readonly onTrouble: (reason: string) => void;
}

const POLL_MS = 200;
const BEAT_MS = 10_000;
/** Time kept back from a call's end to answer. */
const MARGIN_MS = 500;

const conflict = (key: string, message: string, next: string): Failure =>
  new Failure({ kind: "conflict", message, retryable: false, sideEffect: "none", idempotencyKey: key, next });

export type Actions = ReturnType<typeof createActions>;

export function createActions({ journal, timing, resendMs, redact, onTrouble }: ActionsOptions) {
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

  const nameOf = ({ service, key }: StoredAction): string => JSON.stringify([service, key]);

  /** Its owner is gone, or is this process and could not write down how it ended. */
  const isAbandoned = (stored: StoredAction): boolean =>
    stored.owner === ownName ? !underway.has(nameOf(stored)) : isGone(stored.owner);

  function refuseOtherCommand(stored: StoredAction, call: ActionCall, canonical: string): void {
    const key = stored.key;
    const another = "Leave idempotencyKey out for a new action, or repeat that action's own arguments.";
    if (stored.tool !== call.tool)
      throw conflict(key, `The key ${key} belongs to an action of ${stored.tool}; nothing was sent.`, another);
    if (stored.arguments === canonical) return;
    const names = differingArguments(stored.arguments, canonical).join(", ");
    throw conflict(
      key,
      `The key ${key} belongs to an action with other arguments (${names}); nothing was sent.`,
      another,
    );
  }

  /** Tells a settled action again. */
  function replay(stored: StoredAction, outcome: Outcome): ActionResult {
    if ("failure" in outcome) throw new Failure({ ...outcome.failure, idempotencyKey: stored.key });
    return { ...outcome, attempts: stored.attempts, replayed: true, idempotencyKey: stored.key };
  }

  /** Once the answer has reached the client, the same arguments mean a new action. */
  const tellOnDelivery = (open: Journal, stored: StoredAction, call: ActionCall): void =>
    call.whenDelivered(async () => {
      await open.markDelivered(stored).catch((error: unknown) => onTrouble(reasonOf(error)));
    });

  /** What happened is told even if it cannot be written: the action then stays open, and a later call asks under the same key. */
  const settle = async (open: Journal, stored: StoredAction, settlement: Settlement): Promise<void> => {
    await open.settle(stored, settlement).catch((error: unknown) => onTrouble(reasonOf(error)));
  };

  /** Sends an action that this process has claimed, and writes down how it ended. */
  async function work(open: Journal, stored: StoredAction, call: ActionCall): Promise<ActionResult> {
    const idempotencyKey = stored.key;
    let attempts = stored.attempts;
    const written = (outcome: Outcome) => redact(writeOutcome(outcome));
    try {
      const request = { path: stored.path, ifMatch: stored.if_match, body: stored.body };
      const reply = await call.send(request, idempotencyKey, () => {
        attempts += 1;
      });
      await settle(open, stored, {
        state: "succeeded",
        repeatable: false,
        attempts,
        outcome: written({ value: reply.value, drift: reply.drift }),
        resourceId: call.resourceId(reply.value),
      });
      tellOnDelivery(open, stored, call);
      return { ...reply, attempts, idempotencyKey };
    } catch (error) {
      // A fault of our own in the middle: whether anything was sent is not known.
      const failure =
        error instanceof Failure ? error.with({ idempotencyKey }) : unknownOutcome(stored, reasonOf(error));
      const outcome = written({ failure: failure.facts });
      await settle(open, stored, { ...settlementOf(failure), attempts, outcome, resourceId: undefined });
      if (failure.facts.sideEffect !== "unknown") tellOnDelivery(open, stored, call);
      throw failure;
    }
  }

  function unknownOutcome(stored: StoredAction, why: string, facts: Partial<FailureFacts> = {}): Failure {
    return new Failure({
      kind: "outcome_unknown",
      message: `${why} The action may or may not have taken effect.`,
      retryable: true,
      sideEffect: "unknown",
      idempotencyKey: stored.key,
      next: `Repeat the same call with idempotencyKey ${JSON.stringify(stored.key)}: that resumes this action and cannot make it happen twice.`,
      ...facts,
    });
  }

  function tooOld(stored: StoredAction, findOut: string): Failure {
    const hours = Math.round(resendMs / 3_600_000);
    return unknownOutcome(
      stored,
      `This action was first sent at ${new Date(stored.created_at).toISOString()}, more than ${hours} h ago, and its outcome was never learned; the service may have forgotten its key, so it was not sent again.`,
      {
        retryable: false,
        next: `${findOut} If it did not happen, call again with a new idempotencyKey of your own (8-128 letters, digits, - _).`,
      },
    );
  }

  /** An action that is in the journal: told again, taken over, or waited for. Undefined when it has to be looked at anew. */
  async function resume(open: Journal, stored: StoredAction, call: ActionCall): Promise<ActionResult | undefined> {
    if (stored.state === "succeeded" || (stored.state === "rejected" && stored.repeatable === 0)) {
      if (stored.outcome === null) throw unknownOutcome(stored, "The journal holds no outcome of this action.");
      tellOnDelivery(open, stored, call);
      return replay(stored, readOutcome(stored.outcome));
    }
    const abandoned = isAbandoned(stored);
    if (stored.state !== "open" || abandoned || stored.lease_until < timing.now()) {
      const undecided = stored.state !== "rejected";
      if (undecided && timing.now() - stored.created_at > resendMs) throw tooOld(stored, call.findOut);
      const claimed = await open.claim(stored, abandoned ? stored.owner : "");
      return claimed && (await own(open, claimed, call));
    }
    if (timeLeftMs(call.context, timing) < MARGIN_MS + POLL_MS)
      throw unknownOutcome(stored, "Another call is still working on this very action.");
    await sleep(POLL_MS, undefined, { signal: call.context.signal });
    return undefined;
  }

  async function own(open: Journal, stored: StoredAction, call: ActionCall): Promise<ActionResult> {
    const name = nameOf(stored);
    underway.add(name);
    keepBeating(open);
    try {
      return await work(open, stored, call);
    } finally {
      underway.delete(name);
    }
  }

  async function insert(open: Journal, call: ActionCall, canonical: string): Promise<StoredAction | undefined> {
    const request = await call.prepare();
    const action: NewAction = {
      service: call.service,
      key: call.explicitKey ?? makeKey(),
      tool: call.tool,
      arguments: canonical,
      argumentsHash: hashOf(canonical),
      explicit: call.explicitKey !== undefined,
      ...request,
      bodyHash: hashOf(request.body),
    };
    return await open.insert(action);
  }

  async function attempt(open: Journal, call: ActionCall): Promise<ActionResult> {
    const canonical = canonicalArguments(call.arguments);
    let key = call.explicitKey;
    for (;;) {
      const stored =
        key === undefined
          ? await open.findUntold(call.service, call.tool, hashOf(canonical))
          : await open.find(call.service, key);
      if (stored) {
        refuseOtherCommand(stored, call, canonical);
        // From here on this call is about that one action, even if its outcome is told to another call meanwhile.
        key = stored.key;
        const result = await resume(open, stored, call);
        if (result) return result;
        continue;
      }
      // Undefined: another process was faster, and its action is the one to look at.
      const claimed = await insert(open, call, canonical);
      if (claimed) return await own(open, claimed, call);
    }
  }

  return {
    /** Runs one call to its end. Throws Failure; its `sideEffect` and `idempotencyKey` say how the action stands. */
    async perform(call: ActionCall): Promise<ActionResult> {
      const open = await journal();
      try {
        return await attempt(open, call);
      } catch (error) {
        if (error instanceof Failure || call.context.signal.aborted) throw error;
        // Whatever else can fail here is the journal, and before anything is sent.
        throw journalFailure(error);
      }
    },
  };
}
