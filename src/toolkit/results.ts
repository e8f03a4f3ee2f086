// The shapes of results (docs/interface.md, "Results"): what an agent gets as structuredContent and, shorter, as text.
import type * as z from "zod/v4";
import type { EarlierAction } from "../actions/actions.ts";
import type { DecodedBody } from "../api-client/decode.ts";
import type { JsonEndpoint } from "../contract/endpoints/endpoint.ts";
import type { Job } from "../contract/jobs.ts";
import { isJsonObject } from "../contract/json.ts";
import { formatTable } from "../core/table.ts";
import { escapeText, formatJson, formatToken } from "../core/untrusted-text.ts";
import { formatCompactTable, isTable } from "./compact-table.ts";
import type { LinkedFile } from "./linked-files.ts";
import { isNullOrEmptyList } from "./summary-view.ts";
import type { Progress, ToolCall } from "./tool-call.ts";
import type { ToolName } from "./tool-names.ts";

/** The one call that makes sense next, with its arguments filled in. */
export interface NextStep {
  readonly tool: ToolName;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly why: string;
}

/** What happened, in one sentence, and what to do about it. */
export interface Advice {
  readonly summary: string;
  readonly nextStep?: NextStep | undefined;
  /** There is nothing else to say: a wait that finds the same state again need not repeat it. */
  readonly isRoutine?: boolean | undefined;
}

/** How a kind of resource is shown: the URI that names it, and the advice on its state. */
export interface ResourcePresenter<T> {
  readonly uri: (resource: T) => string | undefined;
  /** `readAt`: when it was so, in milliseconds since 1970; undefined if the answer was kept. */
  readonly advise: (resource: T, readAt?: number) => Advice | Promise<Advice>;
  /** The fields that an agent decides by. */
  readonly toSummary: (resource: T) => object;
  /** It will not change any more. */
  readonly hasEnded?: (resource: T) => boolean;
}

/** How far a resource is: a change of `is` is news, `at` is its place, `units` counts the work done. */
export interface ProgressSnapshot {
  readonly state: string;
  readonly detail?: string;
  readonly units?: number;
}

/** A kind of resource that moves, and that actions make. */
export interface PollableResourcePresenter<T> extends ResourcePresenter<T> {
  /** Changes whenever the resource does. */
  readonly version: (resource: T) => string | number | bigint;
  /** It changes without anyone acting. */
  readonly isMoving: (resource: T) => boolean;
  /** It continues when a user of the API has acted. */
  readonly needsUserAction?: (resource: T) => boolean;
  readonly progressSnapshot: (resource: T) => ProgressSnapshot;
  /** Present if the API counts. */
  readonly progress?: (resource: T) => Progress;
  /** Its state in a few words: "FAILED at CHURN". */
  readonly state: (resource: T) => string;
  /** The action that made it may be wanted once more (default: true); false if another next step is better. */
  readonly mayRunAgain?: (resource: T) => boolean;
  /** Present if it is a job: an action that makes one is a task for clients that follow tasks. */
  readonly job?: (resource: T) => Job;
}

/** How much of a resource is shown: what an agent decides by, or every field of the contract. */
export type View = "summary" | "full";

export interface ActionReport {
  readonly idempotencyKey: string;
  readonly replayed: boolean;
  readonly attempts: number;
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

interface ResultFacts {
  /** Fields of the API's answer that the contract does not know. */
  readonly drift?: readonly string[];
  /** The URI of the resource that the result is about. */
  readonly link?: string | undefined;
  /** A file for a caller elsewhere. */
  readonly file?: LinkedFile | undefined;
  /** The resource in `data` will not change any more. */
  readonly hasEnded?: boolean;
  /** The action that made the resource in `data`. */
  readonly action?: ActionReport | undefined;
  /** The id of that resource. */
  readonly resourceId?: string | undefined;
  /** Why this is not simply the answer of a new action; the summary starts with it. */
  readonly notice?: string | undefined;
  /** Present if nothing was sent: an identical call ran before. */
  readonly replay?: Replay | undefined;
  /** The same of a call of several actions. */
  readonly isReplay?: boolean;
  /** The job that the call started: for a client that follows tasks it is a task. */
  readonly job?: Job | undefined;
}

/** What a tool answers. `T`: its data, as the contract has them. */
export interface ToolResult<T = unknown> extends Advice, ResultFacts {
  readonly data: T;
  readonly drift: readonly string[];
  /** Follows the tool's output schema; complete by itself. */
  readonly structured: object;
  /** The same, shorter, for clients that show text only. */
  readonly text: string;
}

/** What an action made. */
export interface ActionResult<T> extends ToolResult<T> {
  readonly action: ActionReport;
}

/** Numbers that JSON.stringify refuses, or makes null of: integers beyond 2^53-1, and what no double holds (1e400). */
const isInexactNumber = (value: unknown): boolean =>
  typeof value === "bigint" || (typeof value === "number" && !Number.isFinite(value));

const containsInexactNumber = (value: unknown): boolean => {
  if (Array.isArray(value)) return value.some(containsInexactNumber);
  if (!isJsonObject(value)) return isInexactNumber(value);
  for (const name in value) if (containsInexactNumber(value[name])) return true;
  return false;
};

function stringifyInexactNumbers(value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  if (typeof value === "number" && !Number.isFinite(value))
    return value > 0 ? `more than ${Number.MAX_VALUE}` : `less than -${Number.MAX_VALUE}`;
  if (Array.isArray(value)) return value.map(stringifyInexactNumbers);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, stringifyInexactNumbers(part)]));
}

/**
 * Bigints as strings of their digits: a client's JSON would round them (docs/interface.md, "Results"). A number beyond all doubles as
 * words (doubt 18). A value without such numbers is returned as it is.
 */
export const withExactNumbers = (value: unknown): unknown =>
  containsInexactNumber(value) ? stringifyInexactNumbers(value) : value;

/** Compact JSON without nulls and empty lists. */
export const compactJson = (value: unknown): string =>
  escapeText(JSON.stringify(value, (_name, part: unknown) => (isNullOrEmptyList(part) ? undefined : part)));

/** As compact JSON; lists of rows follow as tables. */
function dataText(data: unknown): string {
  if (!isJsonObject(data)) return compactJson(data);
  const fields = Object.entries(data);
  const tables = fields.flatMap(([name, part]) =>
    isTable(part) ? [`${formatToken(name)}:\n${formatCompactTable(part)}`] : [],
  );
  return [compactJson(Object.fromEntries(fields.filter(([, part]) => !isTable(part)))), ...tables].join("\n");
}

/** The journal may name tools that this version does not have. */
type AnyStep = Omit<NextStep, "tool"> & { readonly tool: string };

export const callText = (step: Pick<AnyStep, "tool" | "arguments">): string =>
  `${step.tool} ${formatJson(step.arguments)}`;

export const nextText = (step: AnyStep): string => `Next: ${callText(step)} (${step.why})`;

interface ResultParts extends Advice, ResultFacts {
  /** What structuredContent has after `summary` and `nextStep`; absent: the data. */
  readonly fields?: object;
  /** What the text has after the summary and the next step. */
  readonly lines?: readonly (string | undefined)[];
}

/** Returns the step as a call that is offered here: retry_jobs can do what retry_job does. Undefined if no offered tool can do it. */
function toOfferedStep(step: NextStep | undefined, { isOffered }: Pick<ToolCall, "isOffered">): NextStep | undefined {
  if (step === undefined || isOffered(step.tool)) return step;
  const { jobId, ...args } = step.arguments;
  if (step.tool !== "retry_job" || jobId === undefined || !isOffered("retry_jobs")) return undefined;
  return { ...step, tool: "retry_jobs", arguments: { jobIds: [jobId], ...args } };
}

/** Builds the result of every tool. A next step that is not offered here is no step. */
export function toolResult<T extends object>(
  call: Pick<ToolCall, "isOffered">,
  data: T,
  { summary, nextStep: step, fields = data, lines = [], drift = [], ...facts }: ResultParts,
): ToolResult<T> {
  const nextStep = toOfferedStep(step, call);
  const next = nextStep && { nextStep };
  const text = [summary, nextStep && nextText(nextStep), ...lines].filter((line) => line !== undefined).join("\n");
  return { ...facts, data, summary, ...next, structured: { summary, ...next, ...fields }, text, drift };
}

export interface Envelope<T> {
  readonly data: T;
  readonly meta: { readonly requestId: string };
}

/** An endpoint that answers with one resource. */
export type ResourceEndpoint<T> = JsonEndpoint<z.ZodType<Envelope<T>>>;

/** The API's answer, and when it was read. */
export interface ReadAnswer<T> extends DecodedBody<Envelope<T>> {
  readonly respondedAt?: number;
}

interface PresentationOptions extends Pick<ResultFacts, "action" | "notice" | "replay"> {
  readonly view?: View | undefined;
}

/** One resource: its state and what to do next; of an action, also how it ran. */
export async function resourceResult<T extends object>(
  { value: { data, meta }, respondedAt, drift }: ReadAnswer<T>,
  presenter: ResourcePresenter<T>,
  call: Pick<ToolCall, "isOffered">,
  { view, ...facts }: PresentationOptions = {},
): Promise<ToolResult<T>> {
  const { action, notice, replay } = facts;
  const advice = await presenter.advise(data, respondedAt);
  const shown = withExactNumbers(view === "full" ? data : presenter.toSummary(data));
  const lines = [
    action &&
      `idempotencyKey ${formatToken(action.idempotencyKey)}${action.replayed ? ", replayed" : ""}, attempts ${action.attempts}`,
    dataText(shown),
  ];
  return toolResult(call, data, {
    ...facts,
    ...advice,
    summary: notice === undefined ? advice.summary : `${notice} ${advice.summary}`,
    fields: { data: shown, meta, ...(action && { action }) },
    lines,
    drift,
    link: presenter.uri(data),
    hasEnded: presenter.hasEnded?.(data) ?? false,
    ...(replay && { isReplay: true }),
  });
}

/** One action of a call, as the journal has it. */
export interface Step {
  readonly tool: ToolName;
  readonly idempotencyKey: string;
  readonly resourceId: string;
  readonly replayed: boolean;
}

export const toStep = (tool: ToolName, { data, action }: ActionResult<{ readonly id: string }>): Step => ({
  tool,
  idempotencyKey: action.idempotencyKey,
  resourceId: data.id,
  replayed: action.replayed,
});

const STEP_COLUMNS = ["tool", "idempotencyKey", "resourceId", "replayed"] as const;

/** The result with the steps that led to it instead of the one action. */
export function withSteps<T>({ structured, text, ...result }: ToolResult<T>, steps: readonly Step[]): ToolResult<T> {
  const { action, ...fields }: Readonly<Record<string, unknown>> = { ...structured };
  const rows = steps.map((step) => STEP_COLUMNS.map((column) => String(step[column])));
  return {
    ...result,
    structured: { ...fields, steps },
    text: [text, "steps:", formatTable(STEP_COLUMNS, rows)].join("\n"),
  };
}

/** What the user may do in the view: if user and agent follow one piece of advice, it is done twice. */
const USER_TRIGGERED_TOOLS: ReadonlySet<ToolName> = new Set(["retry_job", "cancel_job"]);

/**
 * What is shown to the user in a view: the view gets `structured`, the agent a short text. There is no link to a resource: some hosts
 * pass a view no result that has one.
 */
export function toViewResult<T>(result: ToolResult<T>, notice: string): ToolResult<T> {
  const { data, structured, drift, summary, nextStep } = result;
  const next = nextStep && !USER_TRIGGERED_TOOLS.has(nextStep.tool) ? [nextText(nextStep)] : [];
  return { data, structured, drift, summary, text: [`${notice} ${summary}`, ...next].join("\n") };
}
