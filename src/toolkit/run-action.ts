// Runs an action tool: the journal makes sure that the action runs at most once, and the result states how it went.
import type * as z from "zod/v4";
import type { EarlierAction, PerformedAction } from "../actions/actions.ts";
import type { ActionTraits, Arguments } from "../actions/fingerprint.ts";
import { againKey } from "../actions/keys.ts";
import { duration } from "../actions/window.ts";
import type { Decoded } from "../api-client/decode.ts";
import { encodeRequest } from "../api-client/encode.ts";
import type { JsonEndpoint } from "../contract/endpoints/endpoint.ts";
import { isJsonObject } from "../contract/json.ts";
import { Failure } from "../failure.ts";
import { quote, word } from "../outside.ts";
import type { Ports } from "./ports.ts";
import { requestOf } from "./requests.ts";
import { type ActionResult, type ActionSubject, actionResult, type Replay } from "./results.ts";
import type { ToolCall } from "./tool-call.ts";

export interface Envelope<T> {
  data: T;
  meta: { requestId: string };
}
export type EnvelopeOf<T> = z.ZodType<Envelope<T>>;

export interface ActionArguments {
  readonly idempotencyKey?: string | undefined;
  /** mic-mcp derived the key for one step of a call. */
  readonly isDerivedKey?: boolean | undefined;
  readonly [field: string]: unknown;
}

export interface ActionRun<T> {
  readonly endpoint: JsonEndpoint<EnvelopeOf<T>>;
  readonly traits: ActionTraits;
  readonly subject: ActionSubject<T>;
  /** How an agent finds out whether an old action happened. */
  readonly findOut: string;
  /** Checks a new action before it is sent; an action that is resumed was checked before. Throws Failure. */
  readonly check?: () => Promise<void>;
  /** Returns why the answer belongs to something else, if it does. */
  readonly mismatch?: (resource: T) => string | undefined;
  /** The If-Match of a new action. */
  readonly ifMatch?: () => Promise<string>;
  /** Reads what the action made, as it is now; `state` is shown instead of the subject's. Absent: the caller reads it. Throws Failure. */
  readonly readNow?: (id: string) => Promise<Decoded<Envelope<T>> & { readonly at: number; readonly state?: string }>;
}

function resourceId(value: unknown): string | undefined {
  const data = isJsonObject(value) ? value["data"] : undefined;
  const id = isJsonObject(data) ? data["id"] : undefined;
  return typeof id === "string" ? id : undefined;
}

/** The notes of the first call that this one words differently: the API received only the first. */
function firstNotes(first: Arguments, call: Arguments, { identifiedBy }: ActionTraits): string {
  const notes = Object.entries(first).filter(
    ([name, value]) => !identifiedBy.includes(name) && typeof value === "string" && value !== call[name],
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
  const offer = mayOffer && isKeyless ? ` To run it again, pass idempotencyKey ${againKey(idempotencyKey)}.` : "";
  const shown = state === undefined ? "" : ` (${state})`;
  return `Not run again: an identical call ran ${duration(earlier.ageMs)} ago${shown}.${notes}${now}${offer}`;
}

/** "13:36:51 UTC", with its date if that is not today's. */
function clockTime(instant: string, now: number): string {
  const [date = "", time = ""] = instant.split("T");
  const today = new Date(now).toISOString().slice(0, 10);
  return `${date === today ? "" : `${date} `}${time.slice(0, 8)} UTC`;
}

const createdAt = (resource: unknown): string | undefined => {
  const at = isJsonObject(resource) ? resource["createdAt"] : undefined;
  return typeof at === "string" && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/.test(at) ? at : undefined;
};

/** `isCurrent`: the resource was read now. */
const resolvedNotice = (resource: unknown, isCurrent: boolean, now: number): string => {
  const at = createdAt(resource);
  return `Resolved: it ran once${at === undefined ? "" : `, at ${clockTime(at, now)}`}.${isCurrent ? "" : NOT_READ}`;
};

const newNotice = ({ ageMs, resourceId: id }: EarlierAction): string =>
  `A new action: an identical call ran ${duration(ageMs)} ago${id === undefined ? "" : ` (${word(id)})`}.`;

export async function runAction<T>(
  args: ActionArguments,
  call: ToolCall,
  { actions, service }: Pick<Ports, "actions" | "service">,
  run: ActionRun<T>,
): Promise<ActionResult<T>> {
  const { endpoint, traits, subject, findOut, check, mismatch, ifMatch, readNow } = run;
  const { idempotencyKey: explicitKey, isDerivedKey, ...meant } = args;
  const performed: PerformedAction = await actions.perform({
    tool: call.tool,
    arguments: meant,
    explicitKey,
    isDerivedKey,
    proposedKey: call.proposedKey,
    async prepare() {
      await check?.();
      return encodeRequest(endpoint, { ...requestOf(endpoint, args), ...(ifMatch && { ifMatch: await ifMatch() }) });
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
    resourceId,
    findOut,
    traits,
    context: call.context,
  });
  const { idempotencyKey, replayed, attempts, drift, origin, earlier } = performed;
  const first = endpoint.success.body.parse(performed.value);
  const action = { idempotencyKey, replayed, attempts };
  const firstAnswer = { value: first, drift };
  if (origin === "new")
    return await actionResult(firstAnswer, subject, call, action, { notice: earlier && newNotice(earlier) });

  /** As it is now; undefined if it could not be read. */
  const id = resourceId(first);
  const now = id === undefined ? undefined : await readNow?.(id).catch((error: unknown) => onlyFailure(error, call));
  const shown = now ?? firstAnswer;
  if (origin === "resolved" || !earlier)
    return await actionResult(shown, subject, call, action, {
      notice: resolvedNotice(first.data, now !== undefined, service.timing.now()),
    });
  const notes = firstNotes(earlier.arguments, meant, traits);
  const replay: Replay = { earlier, idempotencyKey, notes, isKeyless: explicitKey === undefined };
  const state = now && (now.state ?? subject.state(now.value.data));
  const notice = replayNotice(replay, state, subject.mayRunAgain?.(shown.value.data) ?? true);
  return await actionResult(shown, subject, call, action, { notice, replay });
}

/** A resource that cannot be read does not make a replay fail, unless the call was canceled. */
function onlyFailure(error: unknown, { context }: ToolCall): undefined {
  if (!(error instanceof Failure) || context.signal.aborted) throw error;
  return undefined;
}
