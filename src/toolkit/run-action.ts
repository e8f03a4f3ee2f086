// This module runs an action tool: the journal ensures that the action runs at most once, and the result reports the outcome.
import type { EarlierAction, PerformedAction } from "../actions/actions.ts";
import { formatDuration } from "../actions/deduplication-window.ts";
import {
  type ActionTraits,
  type Arguments,
  type InputReferences,
  isNote,
  type TraitsOf,
} from "../actions/fingerprint.ts";
import { deriveRepeatKey } from "../actions/idempotency-keys.ts";
import { type CallContext, type Timing, timeLeftMs } from "../api-client/attempts.ts";
import { asValidBody } from "../api-client/decode.ts";
import { encodeRequest } from "../api-client/encode.ts";
import { memberAt } from "../contract/json.ts";
import { withTimeout } from "../core/async.ts";
import { Failure } from "../core/failure.ts";
import { call, join, own, quoted, raw, say, type Text, withKey } from "../core/text.ts";
import { toCallRequest } from "./arguments.ts";
import {
  type ActionResult,
  type Describe,
  type ReadAnswer,
  type Replay,
  type ResourceEndpoint,
  resourceResult,
  type Status,
} from "./results.ts";
import { type ToolContext, toStepFailure } from "./tool-context.ts";

export interface ActionArguments {
  readonly idempotencyKey?: string;
  /** True if mic-mcp derived the key for one step of a call. */
  readonly isDerivedKey?: boolean;
  readonly [field: string]: unknown;
}

export interface ActionRun<T, E extends ResourceEndpoint<T>> {
  readonly endpoint: E;
  readonly traits: TraitsOf<E>;
  readonly describe: Describe<T>;
  readonly status: (resource: T) => Status;
  /** Advice on how an agent can find out whether an old action took effect. */
  readonly findOut: Text;
  /** Checks a new action before it is sent; a resumed action was checked before. Throws Failure. */
  readonly check?: () => Promise<void>;
  /** See `ActionDescriptor`. */
  readonly references?: InputReferences | undefined;
  /** Returns the If-Match header of a new action. */
  readonly ifMatch?: () => Promise<string>;
  /** Throws Failure. */
  readonly readNow: (id: string) => Promise<ReadAnswer<T>>;
  /** True if the caller reads the resource itself, and takes the notice from `noticeFor` (default false). */
  readonly readsItself?: boolean;
}

/** Returns a text field of the resource in a response whose shape is unknown. */
function textField(answer: unknown, name: string): string | undefined {
  const value = memberAt(answer, "data", name);
  return typeof value === "string" ? value : undefined;
}

const createdId = (answer: unknown): string | undefined => textField(answer, "id");

/** Lists the notes of the first call that differ in this one. The API received only those of the first call. */
function firstCallNotesText(first: Arguments, second: Arguments, traits: ActionTraits): Text {
  const notes = Object.entries(first).filter(
    ([name, value]) => isNote(name, traits) && typeof value === "string" && value !== second[name],
  );
  return join(
    notes.map(([name, value]) => say`${name} ${name === "retryMode" ? String(value) : quoted(String(value))}`),
    ", ",
  );
}

const NOT_READ = say`Its current state could not be read; this is the first answer.`;

/** `state`: undefined if it could not be read. `mayOffer`: it makes sense to run the action again. */
function replayNotice(
  { earlier, finding, idempotencyKey, notes, isKeyless }: Replay,
  state: Text | undefined,
  mayOffer: boolean,
): Text {
  const ago = say`${raw(formatDuration(earlier.ageMs))} ago${state && say` (${state})`}`;
  const isSame = notes.length === 0;
  const ran =
    finding === undefined
      ? say`Not run again: ${own(isSame ? "an identical" : "a similar")} call ran ${ago}${!isSame && say`, with ${notes}`}.`
      : say`Not run again. ${raw(finding)}`;
  const offer = mayOffer && isKeyless && say`To run it again, ${withKey(deriveRepeatKey(idempotencyKey))}.`;
  return join([ran, state === undefined && NOT_READ, offer]);
}

/** Formats ", at 13:36:51 UTC", with the date if it is not today; returns undefined if the text is not an instant. */
function clockTime(instant: string, now: number): Text | undefined {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/.test(instant)) return undefined;
  const [date = "", time = ""] = instant.split("T");
  const today = new Date(now).toISOString().slice(0, 10);
  return say`, at ${date !== today && say`${date} `}${time.slice(0, 8)} UTC`;
}

function newActionNotice({ ageMs, createdId: id, unresolvedKey }: EarlierAction): Text {
  const ago = say`${raw(formatDuration(ageMs))} ago`;
  if (unresolvedKey === undefined)
    return say`A new action: an identical call ran ${ago}${id !== undefined && say` (${id})`}.`;
  const look = call("resolve_actions", { idempotencyKey: unresolvedKey });
  return say`A new action: an identical call was sent ${ago}, and it is not known whether it took effect, too: ${look} looks for it.`;
}

/** Describes an action that this call has sent, if it was sent more than once, or before the journal knew it. */
function sentText(
  { attempts, replayed: isStored }: Pick<PerformedAction, "attempts" | "replayed">,
  isKeyless: boolean,
): Text | undefined {
  if (attempts === 1)
    return isStored
      ? say`The API already had this key: an earlier request ran the action, and this call did not run it again.`
      : undefined;
  // Another client may have sent an own key before.
  const cause = isStored && isKeyless && own(" after lost answers");
  return say`Sent ${attempts} times under one key${cause}; the action ran once.`;
}

/** `key`: that of the identical action whose outcome this call found. */
const unusedKeyNotice = (key: string, state: Text | undefined): Text =>
  join([
    say`Resolved: an identical call with idempotencyKey ${key} ran once. Your new key was not used; to run it again, make this call again.`,
    state === undefined && NOT_READ,
  ]);

/** An attempt that is in flight at the end of a call may continue for this time. */
const GRACE_MS = 5_000;

/** At the call's deadline, throws Failure (timeout) unless the call may wait; the action continues, and its outcome is recorded. */
async function performInTime<T>(
  ctx: ToolContext,
  timing: Timing,
  perform: (limits: CallContext, onSend: (key: string) => void) => Promise<T>,
): Promise<T> {
  const { tool, signal, actionDeadlineAt } = ctx;
  if (actionDeadlineAt === undefined) return await perform(ctx, () => undefined);
  let idempotencyKey: string | undefined;
  let isInBackground = false;
  const abort = new AbortController();
  const onAbort = (): void => abort.abort(signal.reason);
  signal.addEventListener("abort", onAbort);
  if (signal.aborted) onAbort();
  const own: CallContext = {
    ...ctx,
    signal: abort.signal,
    graceMs: GRACE_MS,
    // Before the call has returned, only waits that fit into its time begin, for example for a Retry-After.
    get deadlineAt() {
      return isInBackground ? actionDeadlineAt : ctx.deadlineAt;
    },
  };
  function timeoutError(): Failure {
    isInBackground = true;
    return new Failure({
      kind: "timeout",
      code: "IN_PROGRESS",
      message: say`${tool} is in progress: the API has not answered yet.`,
      retryable: true,
      sideEffect: "unknown",
      idempotencyKey,
      next: join([
        say`Make the same call again: it waits for this action, which never runs twice.`,
        idempotencyKey !== undefined && say`${call("resolve_actions", { idempotencyKey })} shows its outcome.`,
      ]),
    });
  }
  try {
    const timeoutMs = timeLeftMs(ctx, timing);
    const onSend = (key: string): void => {
      idempotencyKey = key;
    };
    return await withTimeout(perform(own, onSend), { signal: new AbortController().signal, timeoutMs, timeoutError });
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** Failure for an action that took effect, but whose answer and resource cannot be read. */
const unreadableResourceFailure = (id = "", idempotencyKey: string, drift: readonly string[], findOut: Text): Failure =>
  new Failure({
    kind: "contract_violation",
    message: join([
      say`The action took effect and made ${id}, but neither the API's answer nor a read shows it as the contract says.`,
      ...drift.map(raw),
    ]),
    retryable: false,
    sideEffect: "done",
    idempotencyKey,
    next: say`Do not repeat it under a new key: it was accepted. ${findOut}`,
  });

/** Runs one action. Returns the resource that it created, or a replay of an identical call. Throws Failure. */
export async function runAction<T extends object, E extends ResourceEndpoint<T>>(
  args: ActionArguments,
  ctx: ToolContext,
  { endpoint, traits, describe, status, findOut, check, references, ifMatch, readNow, readsItself }: ActionRun<T, E>,
): Promise<ActionResult<T>> {
  const { idempotencyKey: explicitKey, isDerivedKey, ...actionArguments } = args;
  const performing = (limits: CallContext, onSend: (key: string) => void) =>
    ctx.actions.perform({
      ...{ tool: ctx.tool, arguments: actionArguments, explicitKey, isDerivedKey, proposedKey: ctx.proposedKey },
      references,
      async prepare() {
        await check?.();
        const request = encodeRequest(endpoint, {
          ...toCallRequest(endpoint, args),
          ...(ifMatch && { ifMatch: await ifMatch() }),
        });
        const preparing = ctx.api.prepareAction(endpoint, limits);
        if (preparing) await preparing;
        return request;
      },
      async send(request, key, attempts) {
        onSend(key);
        return await ctx.api.send(endpoint, request, key, limits, attempts);
      },
      apiClock: { now: ctx.api.apiNow, read: () => ctx.api.readApiClock(limits) },
      outageLeftMs: () => ctx.api.pause.leftMs(endpoint.id),
      ...{ createdId, verificationAdvice: findOut, traits, context: limits },
    });
  const performed = await performInTime(ctx, ctx.api.timing, performing);
  const { value, origin, earlier, finding, drift, idempotencyKey, attempts, replayed: isStored } = performed;
  const isKeyless = explicitKey === undefined;
  const sent = origin === "new" ? sentText(performed, isKeyless) : undefined;
  const report = { idempotencyKey, replayed: origin === "replayed", attempts, sent };
  const recorded = asValidBody(endpoint.success.body, value);
  const first = recorded && { value: recorded, drift };
  // The response of a new action is current, so it is read again only if it breaks the contract. `now` is undefined if that fails.
  const id = createdId(value);
  const isRead = id !== undefined && (first === undefined || (origin !== "new" && !readsItself));
  const now = isRead ? await readNow(id).catch((error: unknown) => void toStepFailure(error, ctx)) : undefined;
  const shown = now ? { ...now, drift: [...new Set([...drift, ...now.drift])] } : first;
  if (shown === undefined) throw unreadableResourceFailure(id, idempotencyKey, drift, findOut);

  const notes = earlier && firstCallNotesText(earlier.arguments, actionArguments, traits);
  const replay: Replay | undefined =
    origin === "replayed" && earlier ? { earlier, finding, idempotencyKey, notes: notes ?? [], isKeyless } : undefined;
  function noticeFor(state: Text | undefined, mayOffer: boolean): Text | undefined {
    if (origin === "new") return earlier && newActionNotice(earlier);
    if (explicitKey !== undefined && explicitKey !== idempotencyKey) return unusedKeyNotice(idempotencyKey, state);
    if (replay) return replayNotice(replay, state, mayOffer);
    const at = clockTime(textField(value, "createdAt") ?? "", ctx.api.timing.now());
    return join([say`Resolved: the action ran once${at}.`, state === undefined && NOT_READ]);
  }
  const { text, mayRunAgain = true } = status(shown.value.data);
  const notice = noticeFor(now && text, mayRunAgain);
  const isNew = origin === "new" && !isStored;
  const { requestId } = (first ?? shown).value.meta;
  const result = await resourceResult(shown, describe, { action: report, requestId, notice, replay, isNew });
  return { ...result, action: report, isStored, noticeFor, createdId: createdId(value) };
}
