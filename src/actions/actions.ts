// Each agent action (one POST) runs at most once, however often it is called, by any process and after any failure
// (docs/interface.md, "Deduplication").

import { type CallContext, type Timing, timeLeftMs } from "../api-client/attempts.ts";
import type { AttemptOptions } from "../api-client/client.ts";
import type { EncodedRequest } from "../api-client/encode.ts";
import { errorMessage, Failure } from "../core/failure.ts";
import type { Hooks } from "../core/hooks.ts";
import {
  assertSameAction,
  assertSameNotes,
  tooOldToResendFailure,
  unknownKeyFailure,
  unknownOutcomeFailure,
  unreadableOutcomeFailure,
  withCallerKey,
  withResumeAdvice,
} from "./action-failures.ts";
import { createLateWrites, createLeaseMonitor } from "./claims.ts";
import { formatDuration, isTooOldToResend } from "./deduplication-window.ts";
import {
  type ActionIdentity,
  type ActionTraits,
  type Arguments,
  identifyAction,
  parseCanonicalArguments,
} from "./fingerprint.ts";
import { generateKey, isGeneratedKey } from "./idempotency-keys.ts";
import type { Journal, LatestAction, NewAction, Resolution, StoredAction } from "./journal.ts";
import { failureFrom, parseOutcome, stateAfterFailure, stringifyOutcome } from "./store/action-row.ts";
import { JournalFailure, journalFailure } from "./store/database.ts";

/** The facts that identify the action of a call. */
export interface ActionDescriptor {
  /** The scope of the keys: JSON of [base URL, client id] or, in a deployment, the name of the caller (service-actions.ts). */
  readonly service: string;
  readonly tool: string;
  /** Does not include the idempotencyKey. */
  readonly arguments: Arguments;
  readonly traits: ActionTraits;
  readonly explicitKey: string | undefined;
  /** mic-mcp derived `explicitKey` from another key, so it may name a new action although it has mic-mcp's own format. */
  readonly isDerivedKey?: boolean | undefined;
  /** The key of a new action if `explicitKey` is undefined: the key that the user confirmed. */
  readonly proposedKey?: string | undefined;
}

export interface Reply {
  readonly value: unknown;
  readonly drift: readonly string[];
  /** True for the stored response of an earlier request, from the journal or the API. */
  readonly replayed: boolean;
}

/** One call of an action tool. */
export interface ActionCall extends ActionDescriptor {
  /** Advice for the agent: how to check whether the action took effect without sending it again. */
  readonly verificationAdvice: string;
  /** Builds the request of a new action. A resumed action already has one. */
  prepare(): Promise<EncodedRequest>;
  /** Removes the secrets of this call's credentials. `ActionsOptions.redact` removes those that no outcome may contain. */
  readonly redact?: ((text: string) => string) | undefined;
  readonly hooks?: Hooks | undefined;
  /** Sends the request with its upstream idempotency key, and retries it. Throws Failure. */
  send(request: EncodedRequest, key: string, attempts: AttemptOptions): Promise<Reply>;
  /** Returns the id of the resource in a response value; undefined if it has none. */
  resourceId(value: unknown): string | undefined;
  readonly context: CallContext;
}

/** A successful action that the journal contains. */
export interface EarlierAction {
  /** Milliseconds since 1970. */
  readonly ranAt: number;
  /** Milliseconds since `ranAt`. */
  readonly ageMs: number;
  readonly arguments: Arguments;
  readonly resourceId?: string;
}

export interface PerformedAction extends Reply {
  readonly idempotencyKey: string;
  /** Requests sent for this action so far, by any process. */
  readonly attempts: number;
  /**
   * - `new`: the action ran now. `earlier` is an identical action that succeeded before the deduplication window, if any.
   * - `replayed`: nothing was sent. `earlier` is the action itself.
   * - `resolved`: the outcome was unknown before this call.
   */
  readonly origin: "new" | "replayed" | "resolved";
  readonly earlier?: EarlierAction;
}

/** The result of an action: a response value with the id of its resource, or a failure. */
type ActionResult =
  | { readonly value: unknown; readonly drift?: readonly string[]; readonly resourceId: string | undefined }
  | { readonly failure: Failure };

export interface ActionsOptions {
  /** Throws Failure if the journal cannot be used; then nothing is sent. */
  readonly journal: () => Promise<Journal>;
  readonly timing: Timing;
  /** Monotonic time in milliseconds; changes of the system clock do not affect it. */
  readonly monotonicMs: () => number;
  /** Whether another process that owns an action is certainly dead; false if that cannot be determined. */
  readonly isOwnerDead: (owner: string) => boolean;
  readonly redact: (text: string) => string;
  /** Receives the reason if the journal fails while an action is sent, or later. */
  readonly onJournalError: (reason: string) => void;
}

const POLL_MS = 200;
/** Time reserved at the end of a call to return its result. */
const MARGIN_MS = 500;

const earlierAction = ({
  resolved_at,
  updated_at,
  read_at,
  arguments: args,
  resource_id,
}: StoredAction): EarlierAction => ({
  ranAt: resolved_at ?? updated_at,
  ageMs: Math.max(0, read_at - (resolved_at ?? updated_at)),
  arguments: parseCanonicalArguments(args),
  ...(resource_id !== null && { resourceId: resource_id }),
});

/** True if a client canceled the call of a rejected action. Other calls for the same action are not canceled. */
const wasCanceled = ({ outcome }: StoredAction): boolean => failureFrom(outcome)?.kind === "cancelled";

/** No sequence of events that leads to this failure is known. */
const inconsistentJournalFailure = (): JournalFailure =>
  journalFailure(new Error("it refuses a new action because it has it already, and returns none"));

/** Throws Failure for a mistyped key: it has mic-mcp's own format, but no action has it. Such a key may not name a new action. */
function assertNotMistypedKey({ explicitKey, isDerivedKey }: ActionDescriptor): void {
  if (explicitKey !== undefined && !isDerivedKey && isGeneratedKey(explicitKey)) throw unknownKeyFailure(explicitKey);
}

export type Actions = ReturnType<typeof createActions>;

export function createActions(options: ActionsOptions) {
  const { journal, timing, monotonicMs, isOwnerDead, redact, onJournalError } = options;
  const leases = createLeaseMonitor(monotonicMs);
  const lateWrites = createLateWrites();

  const identifyCall = (
    openedJournal: Journal,
    { service, arguments: args, traits }: ActionDescriptor,
  ): Promise<ActionIdentity> =>
    identifyAction(args, traits, (inputIds) => openedJournal.findReferences(service, inputIds));

  /** True if the owner is dead, does not renew its lease, or is this process, which then could not record the outcome. */
  const isAbandoned = (openedJournal: Journal, stored: StoredAction): boolean =>
    stored.owner === openedJournal.owner || isOwnerDead(stored.owner) || leases.isExpired(stored);

  /** Returns the recorded outcome of a resolved action, or throws the recorded Failure. */
  function replay(stored: StoredAction): PerformedAction {
    if (stored.outcome === null) throw unknownOutcomeFailure("The journal contains no outcome of this action.");
    const outcome = parseOutcome(stored.outcome);
    const earlier = earlierAction(stored);
    const { key: idempotencyKey, attempts } = stored;
    if ("failure" in outcome) {
      const { message } = outcome.failure;
      const notice = `Not run again: an identical call ran ${formatDuration(earlier.ageMs)} ago. ${message}`;
      throw new Failure({
        ...outcome.failure,
        idempotencyKey,
        ...(stored.state === "succeeded" && { message: notice }),
      });
    }
    return { ...outcome, attempts, idempotencyKey, replayed: true, origin: "replayed", earlier };
  }

  /**
   * Records an outcome. The agent gets the outcome even if it cannot be recorded, or if another process has taken the action over.
   * The write of an outcome is then repeated while this process runs. Until it succeeds, the action stays in progress, and a later call
   * sends it again under the same key.
   */
  async function tryRecordResolution(
    openedJournal: Journal,
    stored: StoredAction,
    resolution: Resolution,
    call: ActionCall,
  ): Promise<void> {
    const traceId = call.hooks?.auditor?.traceId?.();
    const auditor = call.hooks?.auditor && { ...call.hooks.auditor, traceId: () => traceId };
    const record = () => openedJournal.resolve(stored, resolution, auditor);
    await record().catch((error: unknown) => {
      onJournalError(errorMessage(error));
      lateWrites.add(stored, record);
    });
  }

  /** Returns what the journal records of a result, without secrets. `ownRedact` also removes those of one call's credentials. */
  function toResolution(result: ActionResult, attempts: number, ownRedact: ActionCall["redact"]): Resolution {
    const isFailure = "failure" in result;
    const outcome = isFailure ? { failure: result.failure.facts } : { value: result.value, drift: result.drift ?? [] };
    const text = redact(stringifyOutcome(outcome));
    return {
      state: isFailure ? stateAfterFailure(result.failure) : "succeeded",
      attempts,
      outcome: ownRedact?.(text) ?? text,
      resourceId: isFailure ? undefined : result.resourceId,
    };
  }

  /** Sends an action that this process has claimed, and records its outcome. Throws Failure. */
  async function sendClaimed(openedJournal: Journal, stored: StoredAction, call: ActionCall): Promise<PerformedAction> {
    const idempotencyKey = stored.key;
    const upstreamKey = stored.upstream_key === "" ? stored.key : stored.upstream_key;
    const isResumed = stored.indeterminate === 1;
    let attempts = stored.attempts;
    lateWrites.remove(stored);
    try {
      const request = { path: stored.path, ifMatch: stored.if_match, body: stored.body };
      const reply = await call.send(request, upstreamKey, {
        mayHaveTakenEffect: isResumed,
        onAttempt: () => {
          attempts += 1;
        },
      });
      const result = { ...reply, resourceId: call.resourceId(reply.value) };
      await tryRecordResolution(openedJournal, stored, toResolution(result, attempts, call.redact), call);
      return { ...reply, attempts, idempotencyKey, origin: isResumed ? "resolved" : "new" };
    } catch (error) {
      // After an internal error, it is unknown whether anything was sent.
      const failure =
        error instanceof Failure
          ? withCallerKey(error, upstreamKey, idempotencyKey)
          : unknownOutcomeFailure(errorMessage(error));
      await tryRecordResolution(openedJournal, stored, toResolution({ failure }, attempts, call.redact), call);
      throw failure.facts.sideEffect === "unknown" ? stillUnknownFailure(failure, stored, call) : failure;
    }
  }

  const stillUnknownFailure = (failure: Failure, stored: StoredAction, { verificationAdvice }: ActionCall): Failure =>
    isTooOldToResend(stored, stored.read_at)
      ? tooOldToResendFailure(stored, verificationAdvice)
      : withResumeAdvice(failure, stored, verificationAdvice);

  /** Resolves when the journal should be read again. Throws `timeoutFailure` if the call has too little time left. */
  async function waitBeforePoll({ context }: ActionCall, timeoutFailure: () => Failure): Promise<undefined> {
    if (timeLeftMs(context, timing) < MARGIN_MS + POLL_MS) throw timeoutFailure();
    await timing.sleep(POLL_MS, context.signal);
    return undefined;
  }

  /** Claims an action with `claim` and sends it. Returns undefined if it could not be claimed. */
  const claimAndSend = (
    openedJournal: Journal,
    action: Pick<StoredAction, "service" | "key">,
    call: ActionCall,
    claim: () => Promise<StoredAction | undefined>,
  ): Promise<PerformedAction | undefined> =>
    openedJournal.inFlight.claimAndRun(
      action,
      claim,
      (claimed) => sendClaimed(openedJournal, claimed, call),
      (error) => onJournalError(errorMessage(error)),
    );

  /**
   * Resumes an action of the journal: replays its outcome, takes it over, or waits. Returns undefined if it must be looked up again.
   * `hasWaited`: another call has worked on the action meanwhile, so its rejection is replayed and the request is not sent again, unless
   * the client of the other call canceled it.
   */
  async function resume(
    openedJournal: Journal,
    stored: StoredAction,
    call: ActionCall,
    identity: ActionIdentity,
    hasWaited: boolean,
  ): Promise<PerformedAction | undefined> {
    const { state } = stored;
    if (state === "succeeded" || (state === "rejected" && hasWaited && !wasCanceled(stored))) return replay(stored);
    if (state === "rejected") assertSameNotes(stored, identity);
    const isClaimable = state !== "in_progress" || isAbandoned(openedJournal, stored);
    if (isClaimable && !openedJournal.inFlight.has(stored)) {
      if (state !== "rejected" && isTooOldToResend(stored, stored.read_at))
        throw tooOldToResendFailure(stored, call.verificationAdvice);
      return await claimAndSend(openedJournal, stored, call, () => openedJournal.claim(stored, isClaimable));
    }
    return await waitBeforePoll(call, () =>
      stillUnknownFailure(unknownOutcomeFailure("Another call is still working on this action."), stored, call),
    );
  }

  async function startNew(
    openedJournal: Journal,
    call: ActionCall,
    identity: ActionIdentity,
    findLive: () => Promise<StoredAction | undefined>,
  ): Promise<PerformedAction | undefined> {
    const request = await call.prepare();
    const action: NewAction = {
      service: call.service,
      key: call.explicitKey ?? call.proposedKey ?? generateKey(),
      upstreamKey: call.explicitKey === undefined ? undefined : call.hooks?.upstreamKey?.(call.explicitKey),
      tool: call.tool,
      arguments: identity.canonical,
      fingerprint: identity.fingerprint,
      about: identity.about,
      isExplicit: call.explicitKey !== undefined,
      ...request,
    };
    if (openedJournal.inFlight.has(action))
      return await waitBeforePoll(call, () => unknownOutcomeFailure("Another call has just begun this action."));
    const sent = await claimAndSend(openedJournal, action, call, () =>
      openedJournal.insert(action).catch(async (error: unknown) => {
        const isAbsent = await findLive().then(
          (found) => found === undefined,
          () => false,
        );
        // If the journal can be read and does not contain the action, it was never sent.
        throw isAbsent ? new Failure(journalFailure(error).facts, { cause: error }) : error;
      }),
    );
    // The journal did not insert the action because it already contains it. If no live action is found, it ended in between.
    if (!sent && !(await findLive())) return await waitBeforePoll(call, inconsistentJournalFailure);
    return sent;
  }

  /** Returns the action of a call; for a call without a key, the latest action with its fingerprint, live or not. */
  async function findAction(
    openedJournal: Journal,
    { service, tool, proposedKey }: ActionDescriptor,
    key: string | undefined,
    { fingerprint }: ActionIdentity,
  ): Promise<LatestAction | undefined> {
    const named = key ?? proposedKey;
    const action = named === undefined ? undefined : await openedJournal.find(service, named);
    if (action) return { action, isLive: true };
    return key === undefined ? await openedJournal.findLatest(service, tool, fingerprint) : undefined;
  }

  async function runCall(openedJournal: Journal, call: ActionCall): Promise<PerformedAction> {
    const identity = await identifyCall(openedJournal, call);
    let key = call.explicitKey;
    let hasWaited = false;
    for (;;) {
      const found = await findAction(openedJournal, call, key, identity);
      if (found?.isLive) {
        assertSameAction(found.action, call.tool, identity);
        // From here on, this call refers to that action only, even if it ends meanwhile.
        key = found.action.key;
        const result = await resume(openedJournal, found.action, call, identity, hasWaited);
        if (result) return result;
        hasWaited = true;
        continue;
      }
      assertNotMistypedKey(call);
      const findLive = async () => {
        const again = await findAction(openedJournal, call, call.explicitKey, identity);
        return again?.isLive ? again.action : undefined;
      };
      const result = await startNew(openedJournal, call, identity, findLive);
      if (result) return found ? { ...result, earlier: earlierAction(found.action) } : result;
    }
  }

  return {
    /** Returns the action that such a call would resume or replay; undefined if there is none or it was rejected. Throws Failure. */
    async findExisting(call: ActionDescriptor): Promise<StoredAction | undefined> {
      const openedJournal = await journal();
      const identity = await identifyCall(openedJournal, call);
      const found = await findAction(openedJournal, call, call.explicitKey, identity);
      if (found?.isLive) assertSameAction(found.action, call.tool, identity);
      else assertNotMistypedKey(call);
      return found?.isLive && found.action.state !== "rejected" ? found.action : undefined;
    },

    /** Returns the arguments of the action with this key; undefined if this tool has no such action. Throws Failure. */
    async findArguments(service: string, tool: string, key: string): Promise<Arguments | undefined> {
      const stored = await journal()
        .then((openedJournal) => openedJournal.find(service, key))
        .catch((error: unknown) => Promise.reject(unreadableOutcomeFailure(error, key)));
      if (!stored && isGeneratedKey(key)) throw unknownKeyFailure(key);
      return stored?.tool === tool ? parseCanonicalArguments(stored.arguments) : undefined;
    },

    /**
     * Records the outcome of an unresolved action that was determined without sending it again. Returns false if the action is no longer
     * unresolved, or a live process works on it. Throws Failure.
     */
    async recordOutcome(
      service: string,
      key: string,
      found: ActionResult,
      { hooks, redact: ownRedact }: Pick<ActionCall, "hooks" | "redact">,
    ): Promise<boolean> {
      const open = await journal();
      const stored = await open.find(service, key);
      const isUnresolved =
        stored?.state === "unknown" || (stored?.state === "in_progress" && isAbandoned(open, stored));
      if (!stored || !isUnresolved || open.inFlight.has(stored)) return false;
      const claimed = await open.claim(stored, true);
      if (!claimed) return false;
      const resolution = toResolution(found, claimed.attempts, ownRedact);
      return (await open.resolve(claimed, resolution, hooks?.auditor)) !== undefined;
    },

    /** Runs one call until it ends. Throws Failure, whose `sideEffect` and `idempotencyKey` describe the state of the action. */
    async perform(call: ActionCall): Promise<PerformedAction> {
      try {
        return await runCall(await journal(), call);
      } catch (error) {
        const isJournal = error instanceof JournalFailure || !(error instanceof Failure);
        if (!isJournal || call.context.signal.aborted) throw error;
        // Any other error comes from the journal, before anything is sent.
        throw unreadableOutcomeFailure(error, call.explicitKey);
      }
    },
  };
}
