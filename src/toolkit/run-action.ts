// Runs an action tool: the journal makes sure that the action runs at most once, and the result states how it went.
import type { EarlierAction } from "../actions/actions.ts";
import { formatDuration } from "../actions/deduplication-window.ts";
import type { ActionTraits, Arguments } from "../actions/fingerprint.ts";
import { deriveRepeatKey } from "../actions/idempotency-keys.ts";
import { encodeRequest } from "../api-client/encode.ts";
import { isJsonObject } from "../contract/json.ts";
import { Failure } from "../core/failure.ts";
import { formatToken, quote } from "../core/untrusted-text.ts";
import { toCallRequest } from "./arguments.ts";
import {
  type ActionResult,
  type PollableResourcePresenter,
  type ReadAnswer,
  type Replay,
  type ResourceEndpoint,
  resourceResult,
} from "./results.ts";
import { type ActionPorts, type ToolCall, toStepFailure } from "./tool-call.ts";

export interface ActionArguments {
  readonly idempotencyKey?: string | undefined;
  /** mic-mcp derived the key for one step of a call. */
  readonly isDerivedKey?: boolean | undefined;
  readonly [field: string]: unknown;
}

export interface ActionRun<T> {
  readonly endpoint: ResourceEndpoint<T>;
  readonly traits: ActionTraits;
  readonly presenter: PollableResourcePresenter<T>;
  /** How an agent finds out whether an old action happened. */
  readonly findOut: string;
  /** Checks a new action before it is sent; an action that is resumed was checked before. Throws Failure. */
  readonly check?: () => Promise<void>;
  /** Returns why the answer belongs to something else, if it does. */
  readonly mismatch?: (resource: T) => string | undefined;
  /** The If-Match of a new action. */
  readonly ifMatch?: () => Promise<string>;
  /** Reads what the action made, as it is now; `state` is shown instead of the subject's. Absent: the caller reads it. Throws Failure. */
  readonly readNow?: (id: string) => Promise<ReadAnswer<T> & { readonly state?: string }>;
}

/** A text field of the resource in an answer whose shape is not known. */
function textField(answer: unknown, name: string): string | undefined {
  const data = isJsonObject(answer) ? answer["data"] : undefined;
  const value = isJsonObject(data) ? data[name] : undefined;
  return typeof value === "string" ? value : undefined;
}

const resourceId = (answer: unknown): string | undefined => textField(answer, "id");

/** The notes of the first call that this one words differently: the API received only the first. */
function firstCallNotesText(first: Arguments, call: Arguments, { identifyingArguments }: ActionTraits): string {
  const notes = Object.entries(first).filter(
    ([name, value]) => !identifyingArguments.includes(name) && typeof value === "string" && value !== call[name],
  );
  if (notes.length === 0) return "";
  return ` The first call had ${notes.map(([name, value]) => `${name} ${name === "retryMode" ? value : quote(String(value))}`).join(", ")}.`;
}

const NOT_READ = " Its current state could not be read; this is the first answer.";

/**
 * The first words of a replay. `state`: as it is now; undefined if it could not be read. `mayOffer`: running it again is a sensible wish.
 */
export function replayNotice(
  { earlier, idempotencyKey, notes, isKeyless }: Replay,
  state: string | undefined,
  mayOffer: boolean,
): string {
  const now = state === undefined ? NOT_READ : "";
  const offer =
    mayOffer && isKeyless ? ` To run it again, pass idempotencyKey ${deriveRepeatKey(idempotencyKey)}.` : "";
  const shown = state === undefined ? "" : ` (${state})`;
  return `Not run again: an identical call ran ${formatDuration(earlier.ageMs)} ago${shown}.${notes}${now}${offer}`;
}

/** ", at 13:36:51 UTC", with the date if that is not today's; nothing if the text is no instant. */
function clockTime(instant: string, now: number): string {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/.test(instant)) return "";
  const [date = "", time = ""] = instant.split("T");
  const today = new Date(now).toISOString().slice(0, 10);
  return `, at ${date === today ? "" : `${date} `}${time.slice(0, 8)} UTC`;
}

const newActionNotice = ({ ageMs, resourceId: id }: EarlierAction): string =>
  `A new action: an identical call ran ${formatDuration(ageMs)} ago${id === undefined ? "" : ` (${formatToken(id)})`}.`;

export async function runAction<T extends object>(
  args: ActionArguments,
  call: ToolCall,
  { actions, service }: ActionPorts,
  { endpoint, traits, presenter, findOut, check, mismatch, ifMatch, readNow }: ActionRun<T>,
): Promise<ActionResult<T>> {
  const { idempotencyKey: explicitKey, isDerivedKey, ...actionArguments } = args;
  const { value, origin, earlier, drift, ...action } = await actions.perform({
    ...{ tool: call.tool, arguments: actionArguments, explicitKey, isDerivedKey, proposedKey: call.proposedKey },
    async prepare() {
      await check?.();
      return encodeRequest(endpoint, {
        ...toCallRequest(endpoint, args),
        ...(ifMatch && { ifMatch: await ifMatch() }),
      });
    },
    async send(request, key, attempts) {
      const answer = await service.send(endpoint, request, key, call.context, attempts);
      const reason = mismatch?.(answer.value.data);
      if (reason === undefined) return answer;
      throw new Failure({
        kind: "contract_violation",
        message: `The service's answer to ${endpoint.id} breaks its contract: ${reason}.`,
        retryable: false,
        sideEffect: "done",
        idempotencyKey: key,
        next: `The action was accepted: do not repeat it under a new key. ${findOut}`,
      });
    },
    ...{ resourceId, verificationAdvice: findOut, traits, context: call.context },
  });
  const { idempotencyKey, replayed, attempts } = action;
  const report = { idempotencyKey, replayed, attempts };
  const first = { value: endpoint.success.body.parse(value), drift };
  /** As it is now; undefined if it could not be read. */
  const id = origin === "new" ? undefined : resourceId(value);
  const now =
    id === undefined ? undefined : await readNow?.(id).catch((error: unknown) => void toStepFailure(error, call));
  const shown = now ?? first;

  async function withNotice(notice: string | undefined, replay?: Replay): Promise<ActionResult<T>> {
    const result = await resourceResult(shown, presenter, call, { action: report, notice, replay });
    return { ...result, action: report, resourceId: resourceId(value), job: presenter.job?.(result.data) };
  }
  if (origin === "new") return await withNotice(earlier && newActionNotice(earlier));
  if (origin === "resolved" || !earlier) {
    const at = clockTime(textField(value, "createdAt") ?? "", service.timing.now());
    return await withNotice(`Resolved: it ran once${at}.${now ? "" : NOT_READ}`);
  }
  const notes = firstCallNotesText(earlier.arguments, actionArguments, traits);
  const replay: Replay = { earlier, idempotencyKey, notes, isKeyless: explicitKey === undefined };
  const state = now && (now.state ?? presenter.state(now.value.data));
  return await withNotice(replayNotice(replay, state, presenter.mayRunAgain?.(shown.value.data) ?? true), replay);
}
