// Each agent action (one POST) runs at most once, however often it is called, by any process and after any failure
// (docs/interface.md, "Deduplication").

import { type CallContext, type Timing, timeLeftMs } from "../api-client/attempts.ts";
import type { AttemptOptions } from "../api-client/client.ts";
import type { EncodedRequest } from "../api-client/encode.ts";
import { withTimeoutFallback } from "../core/async.ts";
import { BoundedMap } from "../core/bounded-map.ts";
import { errorMessage, Failure, toReport } from "../core/failure.ts";
import { raw, say, type Text } from "../core/text.ts";
import { JournalFailure, journalFailure } from "../store/database.ts";
import {
  assertSameAction,
  assertSameNotes,
  tooOldToResendFailure,
  unknownKeyFailure,
  unknownOutcomeFailure,
  unreadableOutcomeFailure,
  unusedKeyFailure,
  withCallerKey,
  withResumeAdvice,
} from "./action-failures.ts";
import { type ActionObserver, NO_OBSERVER } from "./action-observer.ts";
import { failureFrom, parseOutcome, stateAfterFailure, stringifyOutcome } from "./action-row.ts";
import { actionId, createLateWrites, createLeaseMonitor } from "./claims.ts";
import { formatDuration, isTooOldToResend, journalAgeMs } from "./deduplication-window.ts";
import {
  type ActionIdentity,
  type ActionTraits,
  type Arguments,
  type InputReferences,
  identifyAction,
  parseCanonicalArguments,
} from "./fingerprint.ts";
import { findCreationArguments, type ResourceAction, readHistory, toResourceAction } from "./history.ts";
import { generateKey, isGeneratedKey } from "./idempotency-keys.ts";
import type { Journal, LatestAction, NewAction, Resolution, StoredAction } from "./journal.ts";
import {
  type ActionList,
  findListedAction,
  type ListingOptions,
  listActions,
  listUnresolvedActions,
} from "./listing.ts";
import { parseServiceName } from "./service-name.ts";

/** The facts that identify the action of a call. */
export interface ActionDescriptor {
  readonly tool: string;
  /** Does not include the idempotencyKey. */
  readonly arguments: Arguments;
  readonly traits: ActionTraits;
  readonly explicitKey: string | undefined;
  /** mic-mcp derived `explicitKey` from another key, so it may name a new action although it has mic-mcp's own format. */
  readonly isDerivedKey?: boolean;
  /** The key of a new action if `explicitKey` is undefined: the key that the user confirmed. */
  readonly proposedKey?: string;
  /** The references of the inputs that the call names by their references, but binds by their ids. */
  readonly references?: InputReferences;
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
  readonly verificationAdvice: Text;
  /** Builds the request of a new action. A resumed action already has one. */
  prepare(): Promise<EncodedRequest>;
  /** Sends the request with its upstream idempotency key, and retries it. Throws Failure. */
  send(request: EncodedRequest, key: string, attempts: AttemptOptions): Promise<Reply>;
  /** Returns the id of the resource in a response value; undefined if it has none. */
  createdId(value: unknown): string | undefined;
  /** The API's clock: the current time in milliseconds since 1970, if it is known, and a read that makes it current and never rejects. */
  readonly apiClock: { now(): number | undefined; read(): Promise<void> };
  /** Returns the milliseconds for which the request makes no sense, because of an outage; 0 without one. */
  outageLeftMs(): number;
  readonly context: CallContext;
}

/** A successful action that the journal contains. */
export interface EarlierAction {
  /** Milliseconds since 1970. */
  readonly ranAt: number;
  /** Milliseconds since `ranAt`. */
  readonly ageMs: number;
  readonly arguments: Arguments;
  readonly createdId?: string;
  /** Its key, if its outcome is unknown: it was first sent at `ranAt`, before the deduplication window. */
  readonly unresolvedKey?: string;
}

export interface PerformedAction extends Reply {
  /** The result of reading or of the user's decision, if no response shows the outcome of this action. */
  readonly finding?: string;
  /** Not the call's new key if an identical action was unresolved: the call then resolved that action, and ran no other. */
  readonly idempotencyKey: string;
  /** Requests sent for this action so far, by any process. */
  readonly attempts: number;
  /**
   * - `new`: the action ran now. `earlier` is an identical action before the deduplication window, if any.
   * - `replayed`: nothing was sent. `earlier` is the action itself.
   * - `resolved`: the outcome was unknown before this call.
   */
  readonly origin: "new" | "replayed" | "resolved";
  readonly earlier?: EarlierAction;
}

/** The result of an action: a response value with the id of its resource, or a failure. `finding`: see `PerformedAction`. */
type ActionResult = { readonly finding?: string } & (
  | { readonly value: unknown; readonly drift?: readonly string[]; readonly createdId: string | undefined }
  | { readonly failure: Failure }
);

export interface ActionContextOptions {
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

export interface ActionCallerOptions {
  /** Returns JSON of [base URL, client id]. Throws Failure `not_configured`. */
  readonly serviceName: () => Promise<string>;
  /** Reads the client secret, so that it is registered with the redactor: arguments in the journal may contain the secret. */
  readonly readSecret?: () => Promise<unknown>;
  /** The service whose actions are listed; undefined for the actions of all services. Default: `serviceName`. */
  readonly listedServiceName?: () => Promise<string | undefined>;
  readonly observer?: ActionObserver;
  /** Maps a key that this caller names to the Idempotency-Key that the API receives. Default: the same key. */
  readonly upstreamKey?: (key: string) => Promise<string | undefined>;
  /** Removes these credentials' secrets from outcomes. Secrets that no outcome may contain are removed in any case. */
  readonly redact?: (text: string) => string;
}

const POLL_MS = 200;
/** Time reserved at the end of a call to return its result. */
const MARGIN_MS = 500;
/** Maximum number of actions whose age this process measures itself. */
const MAX_AGES = 1_000;
/** A listing waits for the client secret for at most this time, because it must also work while the secret cannot be read. */
const SECRET_LIMIT_MS = 5_000;

function earlierAction(stored: StoredAction): EarlierAction {
  const isUnresolved = stored.state !== "succeeded";
  const ranAt = isUnresolved ? stored.first_sent_at : (stored.resolved_at ?? stored.updated_at);
  return {
    ranAt,
    ageMs: Math.max(0, stored.read_at - ranAt),
    arguments: parseCanonicalArguments(stored.arguments),
    createdId: stored.resource_id ?? undefined,
    unresolvedKey: isUnresolved ? stored.key : undefined,
  };
}

/** True if the action was rejected because the client canceled the call. Other calls for the same action are not canceled. */
const wasCanceled = ({ outcome }: StoredAction): boolean => failureFrom(outcome)?.kind === "cancelled";

/** No sequence of events that leads to this failure is known. */
const inconsistentJournalFailure = (): JournalFailure =>
  journalFailure(new Error("it refuses a new action because it has it already, and returns none"));

/** Throws Failure for a mistyped key: it has mic-mcp's own format, but no action has it. Such a key may not name a new action. */
function assertNotMistypedKey({ explicitKey, isDerivedKey }: ActionDescriptor): void {
  if (explicitKey !== undefined && !isDerivedKey && isGeneratedKey(explicitKey)) throw unknownKeyFailure(explicitKey);
}

export type ActionContext = ReturnType<typeof createActionContext>;

/** Creates what the actions of all callers of this process share. */
export const createActionContext = (options: ActionContextOptions) => ({
  ...options,
  leases: createLeaseMonitor(options.monotonicMs),
  lateWrites: createLateWrites(),
  /** The monotonic times at which this process first sent actions. */
  firstSentMs: new BoundedMap<string, number>(MAX_AGES),
});

export type Actions = ReturnType<typeof createActions>;

/** Creates the actions of one caller. Every method throws Failure if the journal cannot be used. */
export function createActions(
  { journal, timing, monotonicMs, isOwnerDead, redact, onJournalError, leases, lateWrites, firstSentMs }: ActionContext,
  {
    serviceName,
    listedServiceName = serviceName,
    readSecret = async () => undefined,
    observer = NO_OBSERVER,
    upstreamKey = async () => undefined,
    redact: redactOwn,
  }: ActionCallerOptions,
) {
  const identifyCall = (
    openedJournal: Journal,
    service: string,
    { tool, arguments: args, traits, references }: ActionDescriptor,
  ): Promise<ActionIdentity> =>
    identifyAction(
      args,
      traits,
      [service, tool],
      (inputIds) => openedJournal.findReferences(service, inputIds),
      references,
    );

  /** True if the owner is dead, does not renew its lease, or is this process, which then could not record the outcome. */
  const isAbandoned = (openedJournal: Journal, stored: StoredAction): boolean =>
    stored.owner === openedJournal.owner || isOwnerDead(stored.owner) || leases.isExpired(stored);

  /**
   * Returns the time since the first attempt in milliseconds, by the clock that shows the longest time: the journal's, this process's
   * monotonic clock or the API's. So a clock that is wrong, was set or stopped cannot make an action look too young while another is right.
   * `sinceReadMs`: the time since the row was read.
   */
  function ageMs(stored: StoredAction, { apiClock }: Partial<Pick<ActionCall, "apiClock">>, sinceReadMs = 0): number {
    const sentMs = firstSentMs.get(actionId(stored));
    const apiNow = apiClock?.now();
    return Math.max(
      journalAgeMs(stored) + sinceReadMs,
      sentMs === undefined ? Number.NEGATIVE_INFINITY : monotonicMs() - sentMs,
      apiNow === undefined || stored.first_sent_api_at === null
        ? Number.NEGATIVE_INFINITY
        : apiNow - stored.first_sent_api_at,
    );
  }

  /** Returns the recorded outcome of a resolved action, or throws the recorded Failure. */
  function replay(stored: StoredAction): PerformedAction {
    if (stored.outcome === null) throw unknownOutcomeFailure(say`The journal contains no outcome of this action.`);
    const outcome = parseOutcome(stored.outcome);
    const earlier = earlierAction(stored);
    const { key: idempotencyKey, attempts } = stored;
    if ("failure" in outcome) {
      // The journal keeps texts as an agent has read them.
      const { message: recorded, earlierSteps: _, next, ...facts } = outcome.failure;
      const notice = outcome.finding
        ? say`Not run again. `
        : say`Not run again: an identical call ran ${raw(formatDuration(earlier.ageMs))} ago. `;
      throw new Failure({
        ...facts,
        message: say`${stored.state === "succeeded" && notice}${raw(recorded)}`,
        next: next === undefined ? undefined : say`${raw(next)}`,
        idempotencyKey,
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
  ): Promise<void> {
    const complete = observer.end();
    const record = () => openedJournal.resolve(stored, resolution, complete);
    await record().catch((error: unknown) => {
      onJournalError(errorMessage(error));
      lateWrites.add(stored, record);
    });
  }

  /** Returns what the journal records of a result, without secrets. */
  function toResolution(result: ActionResult, attempts: number, apiNow?: number): Resolution {
    const isFailure = "failure" in result;
    const { finding } = result;
    const outcome = isFailure
      ? { failure: toReport(result.failure.facts) }
      : { value: result.value, drift: result.drift ?? [] };
    const text = redact(stringifyOutcome({ finding, ...outcome }));
    return {
      state: isFailure ? stateAfterFailure(result.failure) : "succeeded",
      attempts,
      outcome: redactOwn?.(text) ?? text,
      createdId: isFailure ? undefined : result.createdId,
      apiNow,
    };
  }

  const stillUnknownFailure = (failure: Failure, stored: StoredAction, call: ActionCall): Failure =>
    isTooOldToResend(ageMs(stored, call))
      ? tooOldToResendFailure(stored)
      : withResumeAdvice(failure, stored, call.verificationAdvice, call.outageLeftMs());

  const hasTimeToPoll = ({ context }: ActionCall): boolean => timeLeftMs(context, timing) >= MARGIN_MS + POLL_MS;

  const toNewAction = async (
    service: string,
    call: ActionCall,
    { canonical, ...identity }: ActionIdentity,
    request: EncodedRequest,
  ): Promise<NewAction> => {
    const action = {
      service,
      key: call.explicitKey ?? call.proposedKey ?? generateKey(),
      upstreamKey: call.explicitKey === undefined ? undefined : await upstreamKey(call.explicitKey),
      tool: call.tool,
      arguments: canonical,
      isExplicit: call.explicitKey !== undefined,
      apiNow: call.apiClock.now(),
      ...request,
      ...identity,
    };
    await observer.begin(action);
    return action;
  };

  /**
   * Returns the action of a call: the one with its key. For a call without a key, the latest identical action, live or not. For a new key,
   * the latest identical action without a known outcome: it must be resolved first if sending it again can show the outcome.
   */
  async function findAction(
    openedJournal: Journal,
    service: string,
    call: ActionDescriptor & Partial<Pick<ActionCall, "apiClock">>,
    key: string | undefined,
    identity: ActionIdentity,
  ): Promise<LatestAction | undefined> {
    const { tool, proposedKey } = call;
    if (key === undefined) {
      const proposed = proposedKey && (await openedJournal.find(service, proposedKey));
      return proposed ? { action: proposed, isLive: true } : await openedJournal.findLatest(service, tool, identity);
    }
    const action = await openedJournal.findNamedOrUnresolved(service, tool, identity, key);
    if (action?.key === key) return { action, isLive: true };
    assertNotMistypedKey(call);
    if (!action) return undefined;
    // The API refuses the recorded version of the job, so sending the same bytes again cannot show the outcome.
    const isRefused = failureFrom(action.outcome)?.kind === "precondition_failed";
    return { action, isLive: !isRefused && !isTooOldToResend(ageMs(action, call)) };
  }

  /** Runs one call until it ends. Throws Failure, whose `sideEffect` and `idempotencyKey` describe the state of the action. */
  async function perform(call: ActionCall): Promise<PerformedAction> {
    const { tool, explicitKey, context, apiClock } = call;
    const service = await serviceName();
    let key = explicitKey;
    try {
      const openedJournal = await journal();
      const { inFlight } = openedJournal;
      const identity = await identifyCall(openedJournal, service, call);
      const isLive = async () =>
        (await findAction(openedJournal, service, call, explicitKey, identity))?.isLive === true;
      // True if another call has worked on the action meanwhile. A rejection is then replayed instead of sending the request again, unless
      // the client of the other call canceled that call.
      let hasWaited = false;
      for (;;) {
        const found = await findAction(openedJournal, service, call, key, identity);
        const live = found?.isLive ? found.action : undefined;
        if (live) {
          assertSameAction(live, tool, identity);
          // From here on, this call refers to that action only, even if it ends meanwhile.
          key = live.key;
          const { state } = live;
          if (state === "succeeded" || (state === "rejected" && hasWaited && !wasCanceled(live))) return replay(live);
          if (state === "rejected") assertSameNotes(live, identity);
        }

        const action = live ?? (await toNewAction(service, call, identity, await call.prepare()));
        const isOwned = live?.state === "in_progress" && !isAbandoned(openedJournal, live);
        if (isOwned || inFlight.has(action)) {
          const stillBusyFailure = () =>
            live
              ? stillUnknownFailure(
                  unknownOutcomeFailure(say`Another call is still working on this action.`),
                  live,
                  call,
                )
              : unknownOutcomeFailure(say`Another call has just begun this action.`);
          if (!hasTimeToPoll(call)) throw stillBusyFailure();
          await timing.sleep(POLL_MS, context.signal).catch(() => Promise.reject(stillBusyFailure()));
          hasWaited ||= live !== undefined;
          continue;
        }
        if (live && live.state !== "rejected") {
          if (live.first_sent_api_at !== null) await apiClock.read();
          if (isTooOldToResend(ageMs(live, call))) throw tooOldToResendFailure(live);
          // Another call of this process may have begun the action during the read. Its entry in `inFlight` must then stay.
          if (inFlight.has(action)) continue;
        }

        inFlight.begin(action, (error) => onJournalError(errorMessage(error)));
        try {
          const claimed =
            "isExplicit" in action
              ? await openedJournal.insert(action).catch(async (error: unknown) => {
                  // If the journal can be read and does not contain the action, it was never sent.
                  const isAbsent = !(await isLive().catch(() => true));
                  throw isAbsent ? new Failure(journalFailure(error).facts, { cause: error }) : error;
                })
              : await openedJournal.claim(action, true, apiClock.now());
          if (claimed) {
            const sent = await sendClaimed(openedJournal, claimed, call);
            return found && !live ? { ...sent, earlier: earlierAction(found.action) } : sent;
          }
        } finally {
          inFlight.end(action);
        }
        hasWaited ||= live !== undefined;
        // The journal inserted nothing because it already contained such an action. If none is live now, that action ended in between.
        if (!live && !(await isLive())) {
          if (!hasTimeToPoll(call)) throw inconsistentJournalFailure();
          await timing.sleep(POLL_MS, context.signal);
        }
      }
    } catch (error) {
      const isJournal = error instanceof JournalFailure || !(error instanceof Failure);
      if (!isJournal || context.signal.aborted)
        throw error instanceof Failure && explicitKey !== undefined && key !== undefined && key !== explicitKey
          ? unusedKeyFailure(error, key)
          : error;
      // Any other error comes from the journal, before anything is sent.
      throw unreadableOutcomeFailure(error, key);
    }
  }

  /** Sends an action that this process has claimed, and records its outcome. Throws Failure. */
  async function sendClaimed(openedJournal: Journal, stored: StoredAction, call: ActionCall): Promise<PerformedAction> {
    const idempotencyKey = stored.key;
    const upstreamKey = stored.upstream_key === "" ? stored.key : stored.upstream_key;
    const isResumed = stored.indeterminate === 1;
    let attempts = stored.attempts;
    lateWrites.remove(stored);
    const readAt = timing.now();
    if (!isResumed) firstSentMs.set(actionId(stored), monotonicMs());
    try {
      const request = { path: stored.path, ifMatch: stored.if_match, body: stored.body };
      const reply = await call.send(request, upstreamKey, {
        mayHaveTakenEffect: isResumed,
        onAttempt: () => {
          attempts += 1;
        },
        assertMaySend() {
          if (isTooOldToResend(ageMs(stored, call, timing.now() - readAt))) throw tooOldToResendFailure(stored);
        },
      });
      const result = { ...reply, createdId: call.createdId(reply.value) };
      await tryRecordResolution(openedJournal, stored, toResolution(result, attempts, call.apiClock.now()));
      return { ...reply, attempts, idempotencyKey, origin: isResumed ? "resolved" : "new" };
    } catch (error) {
      // After an internal error, it is unknown whether anything was sent.
      const failure =
        error instanceof Failure
          ? withCallerKey(error, upstreamKey, idempotencyKey)
          : unknownOutcomeFailure(say`${raw(errorMessage(error))}`);
      await tryRecordResolution(openedJournal, stored, toResolution({ failure }, attempts, call.apiClock.now()));
      throw failure.facts.sideEffect === "unknown" ? stillUnknownFailure(failure, stored, call) : failure;
    }
  }

  return {
    perform,

    /** Returns the action that this call would resume or replay; undefined if there is none or it was rejected. Throws Failure. */
    async findExisting(call: ActionDescriptor): Promise<ResourceAction | undefined> {
      const service = await serviceName();
      const openedJournal = await journal();
      const identity = await identifyCall(openedJournal, service, call);
      const found = await findAction(openedJournal, service, call, call.explicitKey, identity);
      if (found?.isLive) assertSameAction(found.action, call.tool, identity);
      return found?.isLive && found.action.state !== "rejected" ? toResourceAction(found.action) : undefined;
    },

    /** Returns the arguments of the action with this key; undefined if this tool has no such action. Throws Failure. */
    async findArguments(tool: string, key: string): Promise<Arguments | undefined> {
      const service = await serviceName();
      const stored = await journal()
        .then((openedJournal) => openedJournal.find(service, key))
        .catch((error: unknown) => Promise.reject(unreadableOutcomeFailure(error, key)));
      if (!stored && isGeneratedKey(key)) throw unknownKeyFailure(key);
      return stored?.tool === tool ? parseCanonicalArguments(stored.arguments) : undefined;
    },

    /** Returns false if the action is no longer unresolved, or a live process works on it. Throws Failure. */
    async recordOutcome(key: string, found: ActionResult): Promise<boolean> {
      const service = await serviceName();
      const open = await journal();
      const stored = await open.find(service, key);
      const isUnresolved =
        stored?.state === "unknown" || (stored?.state === "in_progress" && isAbandoned(open, stored));
      if (!stored || !isUnresolved || open.inFlight.has(stored)) return false;
      const claimed = await open.claim(stored, true);
      if (!claimed) return false;
      return (await open.resolve(claimed, toResolution(found, claimed.attempts), observer.end())) !== undefined;
    },

    /** Lists the unresolved actions, then the latest. */
    async list(wanted: Pick<ListingOptions, "state" | "limit">): Promise<ActionList> {
      const list = await listActions(await journal(), { ...wanted, service: await listedServiceName() });
      if (list.actions.length > 0) await withTimeoutFallback(readSecret(), undefined, SECRET_LIMIT_MS);
      return list;
    },

    /** Returns this caller's unresolved actions, oldest first. */
    listUnresolved: async () => await listUnresolvedActions(await journal(), await serviceName()),

    /** Returns the action with this key in its current state; undefined if there is none. */
    find: async (key: string) => await findListedAction(await journal(), await serviceName(), key),

    countUnresolved: async () => await (await journal()).countUnresolved(),

    /**
     * Counts the unresolved actions of other client ids or base URLs in the journal. Returns 0 if no service is configured.
     */
    async countOfOtherClients(): Promise<number> {
      const service = await listedServiceName();
      if (service === undefined) return 0;
      const [ownBaseUrl, ownClientId] = parseServiceName(service);
      return (await (await journal()).countUnresolvedByClient())
        .filter(({ baseUrl, clientId }) => baseUrl !== ownBaseUrl || clientId !== ownClientId)
        .reduce((sum, { count }) => sum + count, 0);
    },

    /** Returns this caller's actions that concern a resource. */
    readHistory: async (id: string) => await readHistory(await journal(), await serviceName(), id),

    /** Returns the arguments of the actions that created these resources, by the id of the resource, as far as the journal has them. */
    findManyCreationArguments: async (ids: readonly string[]): Promise<ReadonlyMap<string, Arguments>> =>
      ids.length === 0 ? new Map() : await findCreationArguments(await journal(), await serviceName(), ids),
  };
}
