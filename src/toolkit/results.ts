// The shapes of results (docs/interface.md, "Results"): what an agent gets as structuredContent and, lean, as text.
import type { EarlierAction } from "../actions/actions.ts";
import type { Decoded } from "../api-client/decode.ts";
import { isJsonObject } from "../contract/json.ts";
import { escaped, json, word } from "../outside.ts";
import { isNothing } from "./lean.ts";
import type { LinkedFile } from "./linked-files.ts";
import type { ToolCall } from "./tool-call.ts";
import type { ToolName } from "./tool-names.ts";
import { isTable, wholeTable } from "./whole-table.ts";

/** The one call that makes sense next, with its arguments filled in. */
export interface NextStep {
  readonly tool: ToolName;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly why: string;
}

/** What happened, in one sentence, and what to do about it. */
export interface Advice {
  readonly summary: string;
  readonly nextStep?: NextStep;
  /** There is nothing else to say: a wait that finds it so again need not repeat it. */
  readonly isRoutine?: boolean;
}

/** What is said of a kind of resource: the URI that names it, and the advice on its state. */
export interface Subject<T> {
  readonly uri: (resource: T) => string | undefined;
  /** `readAt`: when it was so, in milliseconds since 1970; undefined of an answer that was kept. */
  readonly advise: (resource: T, readAt?: number) => Advice | Promise<Advice>;
  /** The fields that an agent decides by. */
  readonly lean: (resource: T) => object;
  /** It will not change any more. */
  readonly hasEnded?: (resource: T) => boolean;
}

/** A kind of resource that actions make. */
export interface ActionSubject<T> extends Subject<T> {
  /** Its state in a few words: "FAILED at CHURN". */
  readonly state: (resource: T) => string;
  /** The action that made it may be wanted once more (default: true); false if another next step is better. */
  readonly mayRunAgain?: (resource: T) => boolean;
}

/** How much of a resource is shown: what an agent decides by, or every field of the contract. */
export type View = "summary" | "full";

export interface ActionReport {
  readonly idempotencyKey: string;
  readonly replayed: boolean;
  readonly attempts: number;
}

/** What a tool answers. `T`: its data, as the contract has them. */
export interface ToolResult<T = unknown> {
  readonly data: T;
  readonly advice?: Advice;
  readonly action?: ActionReport;
  /** Nothing was sent: identical calls ran before. */
  readonly isReplay?: boolean;
  /** The resource that the data are will not change any more. */
  readonly hasEnded?: boolean;
  /** Follows the tool's output schema; complete by itself. */
  readonly structured: object;
  /** The same, lean, for clients that show text only. */
  readonly text: string;
  /** Fields of the service's answer that the contract does not know. */
  readonly drift: readonly string[];
  /** The URI of the resource that it speaks of. */
  readonly link?: string;
  /** A file for a caller elsewhere. */
  readonly file?: LinkedFile;
}

export interface AdvisedResult<T> extends ToolResult<T> {
  readonly advice: Advice;
}

/** Nothing was sent, since an identical call ran before. */
export interface Replay {
  readonly earlier: EarlierAction;
  readonly idempotencyKey: string;
  /** Of the first call's notes, those that this call words differently. */
  readonly notes: string;
  /** This call named no key, so it may have been meant to run once more. */
  readonly isKeyless: boolean;
}

/** What an action made. */
export interface ActionResult<T> extends AdvisedResult<T> {
  readonly action: ActionReport;
  /** Why this is not simply the answer of a new action; the summary starts with it. */
  readonly notice?: string;
  /** Present if nothing was sent: an identical call ran before. */
  readonly replay?: Replay;
}

/** Numbers that JSON.stringify refuses, or makes null of: integers beyond 2^53-1, and what no double holds (1e400). */
const isInexactNumber = (value: unknown): boolean =>
  typeof value === "bigint" || (typeof value === "number" && !Number.isFinite(value));

const holdsInexactNumber = (value: unknown): boolean => {
  if (Array.isArray(value)) return value.some(holdsInexactNumber);
  if (!isJsonObject(value)) return isInexactNumber(value);
  for (const name in value) if (holdsInexactNumber(value[name])) return true;
  return false;
};

function inDigits(value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  if (typeof value === "number" && !Number.isFinite(value))
    return value > 0 ? `more than ${Number.MAX_VALUE}` : `less than -${Number.MAX_VALUE}`;
  if (Array.isArray(value)) return value.map(inDigits);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, inDigits(part)]));
}

/**
 * Bigints as strings of their digits: a client's JSON would round them (docs/interface.md, "Results"). A number beyond all doubles as
 * words (doubt 18). What has none of them stays itself.
 */
export const withExactNumbers = (value: unknown): unknown => (holdsInexactNumber(value) ? inDigits(value) : value);

/** The same for an object's fields. */
export const fieldsWithExactNumbers = (object: object): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(object).map(([name, part]) => [name, withExactNumbers(part)]));

const holdsNothing = (value: unknown): boolean => {
  if (typeof value !== "object" || value === null) return false;
  for (const part of Object.values(value)) if (isNothing(part) || holdsNothing(part)) return true;
  return false;
};

const unlessNothing = (_name: string, part: unknown): unknown => (isNothing(part) ? undefined : part);

/** Compact JSON without nulls and empty lists. Most data have none: to ask a function about each value costs three times as much. */
export const compactJson = (value: unknown): string =>
  escaped(holdsNothing(value) ? JSON.stringify(value, unlessNothing) : JSON.stringify(value));

/** As compact JSON; lists of rows follow as tables. */
function dataText(data: unknown): string {
  if (!isJsonObject(data)) return compactJson(data);
  const rest: [string, unknown][] = [];
  const tables: string[] = [];
  for (const [name, part] of Object.entries(data))
    if (isTable(part)) tables.push(`${word(name)}:\n${wholeTable(part)}`);
    else rest.push([name, part]);
  if (tables.length === 0) return compactJson(data);
  return [compactJson(Object.fromEntries(rest)), ...tables].join("\n");
}

/** The journal may name tools that this version does not have. */
export const nextText = (step: Omit<NextStep, "tool"> & { readonly tool: string }): string =>
  `Next: ${callText(step)} (${step.why})`;

export const callText = (step: { readonly tool: string; readonly arguments: NextStep["arguments"] }): string =>
  `${step.tool} ${json(step.arguments)}`;

interface Envelope<T> {
  readonly data: T;
  readonly meta: { readonly requestId: string };
}

interface Remarks {
  readonly advice: Advice;
  readonly action?: ActionReport;
  readonly link?: string;
}

/** `shown`: the data as the agent gets them. */
function result<T, R extends Remarks>(answer: Decoded<Envelope<T>>, shown: unknown, remarks: R): AdvisedResult<T> & R {
  const { advice, action } = remarks;
  const { data, meta } = answer.value;
  const exact = withExactNumbers(shown);
  const { summary, nextStep } = advice;
  const structured = { summary, ...(nextStep && { nextStep }), data: exact, meta, ...(action && { action }) };
  const lines = [
    summary,
    nextStep && nextText(nextStep),
    action &&
      `idempotencyKey ${word(action.idempotencyKey)}${action.replayed ? ", replayed" : ""}, attempts ${action.attempts}`,
    dataText(exact),
  ];
  const text = lines.filter((line) => line !== undefined).join("\n");
  return { data, structured, text, drift: answer.drift, ...remarks };
}

/** Data that are their own structured content. */
export const wholeResult = <T extends object>(
  data: T,
  { drift = [], ...remarks }: Pick<ToolResult, "text" | "link" | "file"> & Partial<Pick<ToolResult, "drift">>,
): ToolResult<T> => ({ data, structured: data, drift, ...remarks });

interface AnswerRemarks {
  readonly advice: Advice;
  /** What the text says behind the advice. */
  readonly body?: string;
  readonly drift?: readonly string[];
  readonly link?: string;
  readonly file?: LinkedFile | undefined;
}

/** Data that are their own structured content, behind a sentence that says them and the call that makes sense next. */
export function answerResult<T extends object>(data: T, { advice, body, file, ...more }: AnswerRemarks): ToolResult<T> {
  const { summary, nextStep } = advice;
  const structured = { summary, ...(nextStep && { nextStep }), ...data };
  const text = [summary, nextStep && nextText(nextStep), body].filter((line) => line !== undefined).join("\n");
  return { data, structured, text, drift: [], advice, ...more, ...(file && { file }) };
}

interface ReadAnswer<T> extends Decoded<Envelope<T>> {
  readonly at?: number;
}

/** What is said of the resource; a step that is not offered here is no step. `notice` comes first of all. */
async function remarksOn<T>({ value, at }: ReadAnswer<T>, subject: Subject<T>, call: ToolCall, notice?: string) {
  const { data } = value;
  const { summary, nextStep, isRoutine = false } = await subject.advise(data, at);
  const advice: Advice = {
    summary: notice === undefined ? summary : `${notice} ${summary}`,
    isRoutine,
    ...(nextStep && call.isOffered(nextStep.tool) && { nextStep }),
  };
  const link = subject.uri(data);
  const hasEnded = subject.hasEnded?.(data) ?? false;
  return { advice, hasEnded, ...(link !== undefined && { link }) };
}

/** One resource with how it stands and what to do next. */
export async function advisedResult<T>(
  answer: ReadAnswer<T>,
  subject: Subject<T>,
  call: ToolCall,
  view: View = "summary",
): Promise<AdvisedResult<T>> {
  const { data } = answer.value;
  return result(answer, view === "full" ? data : subject.lean(data), await remarksOn(answer, subject, call));
}

/** What an action's result has in addition. */
interface Origin {
  readonly notice?: string | undefined;
  readonly replay?: Replay;
}

/** The resource that an action made. `notice`: the first words of its summary. */
export const actionResult = async <T>(
  answer: ReadAnswer<T>,
  subject: Subject<T>,
  call: ToolCall,
  action: ActionReport,
  { notice, replay }: Origin = {},
): Promise<ActionResult<T>> =>
  result(answer, subject.lean(answer.value.data), {
    ...(await remarksOn(answer, subject, call, notice)),
    action,
    ...(notice !== undefined && { notice }),
    ...(replay && { replay, isReplay: true }),
  });

/** What a person may do in the view: two who follow one piece of advice would do it twice. */
const LEFT_TO_PERSON: ReadonlySet<ToolName> = new Set(["retry_job", "cancel_job"]);

/**
 * What a person is shown in a view: the view lives on `structured`, the agent gets by what it goes on. There is no link to a
 * resource: some hosts hand a view no result that has one.
 */
export function shownToPerson<T>(
  { data, structured, drift, advice, text }: ToolResult<T>,
  notice: string,
): ToolResult<T> {
  const { summary = text, nextStep } = advice ?? {};
  const next = nextStep && !LEFT_TO_PERSON.has(nextStep.tool) ? [nextText(nextStep)] : [];
  return { data, structured, drift, text: [`${notice} ${summary}`, ...next].join("\n") };
}

/** What a wait found as it was: `news` says so, and the next step is the same again. */
export function unchangedResult<T>(
  answer: ReadAnswer<T>,
  { advice, hasEnded, link }: AdvisedResult<T>,
  news: string,
  state: string,
): AdvisedResult<T> {
  const { nextStep } = advice;
  const structured = { summary: news, ...(nextStep && { nextStep }), data: { state } };
  const text = [news, ...(nextStep ? [nextText(nextStep)] : [])].join("\n");
  const facts = { hasEnded: hasEnded ?? false, ...(link !== undefined && { link }) };
  return {
    data: answer.value.data,
    structured,
    text,
    drift: answer.drift,
    advice: { ...advice, summary: news },
    ...facts,
  };
}
