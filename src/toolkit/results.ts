// This module builds results (docs/interface.md, "Results"): the structuredContent for an agent, and a shorter text.
import type * as z from "zod/v4";
import type { EarlierAction } from "../actions/actions.ts";
import type { DecodedBody } from "../api-client/decode.ts";
import type { JsonEndpoint } from "../contract/endpoints/endpoint.ts";
import type { Job } from "../contract/jobs.ts";
import { isJsonObject } from "../contract/json.ts";
import { AGENT, join, own, type Reader, render, say, type Text } from "../core/text.ts";
import type { ToolName } from "../core/tool-names.ts";
import { escapeText, formatToken } from "../core/untrusted-text.ts";
import { formatCompactTable, isTable } from "./compact-table.ts";
import type { AttachedFile } from "./files.ts";
import { isNullOrEmptyList } from "./summary-view.ts";
import type { Progress } from "./tool-context.ts";
import type { ResourceReference } from "./uri.ts";

export interface NextStep {
  readonly tool: ToolName;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly why: Text;
}

/** The outcome in one sentence, and the next step. */
export interface Advice {
  readonly summary: Text;
  readonly nextStep?: NextStep;
  /** True if a wait that ends in the same state need not repeat the summary. */
  readonly isRoutine?: boolean;
}

/** What a tool reports about a resource. */
export interface Description extends Advice {
  /** The fields of the summary view. */
  readonly fields: object;
  readonly link?: ResourceReference;
  /** True if the resource will not change anymore (default false). */
  readonly hasEnded?: boolean;
  /** The job that the result is about. If the call has started it, it becomes a task for clients that follow tasks. */
  readonly job?: Job;
}

/** `readAt`: the time of the API's response, in ms since 1970. `isNew`: the journal has no other action on the resource. */
export type Describe<T> = (resource: T, readAt?: number, isNew?: boolean) => Description | Promise<Description>;

/** The state of a resource that changes over time and that actions create. */
export interface Status {
  /** Changes whenever the resource does. */
  readonly version: string | number | bigint;
  /** True if the resource changes without user action. */
  readonly isInProgress: boolean;
  /** The state in a few words: "FAILED at CHURN". */
  readonly text: Text;
  readonly detail?: Text | undefined;
  /** Completed work, if the API counts it. */
  readonly units?: number;
  readonly progress?: Progress;
  /** True if it makes sense to run the creating action again (default); false if another next step is better. */
  readonly mayRunAgain?: boolean;
}

/** How much of a resource is shown: the fields that an agent needs for its next step, or all fields of the contract. */
export type View = "summary" | "full";

export interface ActionReport {
  readonly idempotencyKey: string;
  /** True if this call sent nothing, because the action had run before. */
  readonly replayed: boolean;
  /** Requests sent for this action so far. Only the log has it: a reader would take it for executions. */
  readonly attempts: number;
  /** A sentence about the requests, unless this call sent the first one only. */
  readonly sent?: Text | undefined;
}

/** A call for which nothing was sent, because an identical call ran before. */
export interface Replay {
  readonly earlier: EarlierAction;
  /** The result of reading or of the user's decision, if no response shows that the earlier call ran. */
  readonly finding: string | undefined;
  readonly idempotencyKey: string;
  /** The notes of the first call that differ in this call; empty if none does. */
  readonly notes: Text;
  /** True if this call had no key, so that the agent may want a second run. */
  readonly isKeyless: boolean;
}

interface ResultFacts {
  /** The id that the API gave to its response; for an action, to the response to its POST. */
  readonly requestId?: string;
  /** Fields of the API's response that the contract does not define. */
  readonly drift?: readonly string[];
  /** The resource that the result is about. */
  readonly link?: ResourceReference;
  readonly file?: AttachedFile | undefined;
  /** True if the resource in `data` will not change anymore. */
  readonly hasEnded?: boolean;
  /** The action that created the resource in `data`. */
  readonly action?: ActionReport;
  /** The id of that resource. */
  readonly createdId?: string;
  /** A sentence about an earlier attempt or identical call, if there was one. The summary starts with it. */
  readonly notice?: Text | undefined;
  /** Present if nothing was sent, because an identical call ran before. */
  readonly replay?: Replay;
  /** True if nothing was sent. Also covers calls of several actions. */
  readonly isReplay?: boolean;
  /** The job that the result is about. */
  readonly job?: Job;
}

/** The result of a tool, whose texts are not rendered. `T`: the type of its data, as in the contract. */
export interface ToolResult<T = unknown> extends ResultFacts {
  readonly data: T;
  readonly drift: readonly string[];
  readonly summary: Text;
  readonly nextStep?: NextStep | undefined;
  readonly isRoutine?: boolean;
  /** The fields of structuredContent after `summary` and `nextStep`. A function renders texts in them. */
  readonly fields: object | ((reader: ResultReader) => object);
  /** The lines of the text after the summary and the next step. A string is data in its final form. */
  readonly lines: readonly (Text | string | ((reader: ResultReader) => string) | undefined)[];
  /** True if the agent gets the requestId, too (default false). */
  readonly isFull?: boolean;
  /** What only the view receives. The agent receives the summary and the next step. */
  readonly view?: ToolResult;
}

export interface ActionResult<T> extends ToolResult<T> {
  readonly action: ActionReport;
  /** True if the response was made for an earlier request: the resource may have changed since. */
  readonly isStored: boolean;
  /** `state`: as the caller has read it; undefined if it could not be read. `mayOffer`: it makes sense to run the action again. */
  noticeFor(state: Text | undefined, mayOffer: boolean): Text | undefined;
}

/** Returns true for numbers that JSON.stringify rejects (bigints, for integers beyond 2^53-1) or converts to null (1e400). */
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

/** Bigints become digits, which a client's JSON parser would round; numbers beyond doubles become words (open question 18). */
export const withExactNumbers = (value: unknown): unknown =>
  containsInexactNumber(value) ? stringifyInexactNumbers(value) : value;

/** Formats compact JSON without nulls and empty lists. */
export const compactJson = (value: unknown): string =>
  escapeText(JSON.stringify(value, (_name, part: unknown) => (isNullOrEmptyList(part) ? undefined : part)));

/** Formats data as compact JSON, followed by its lists of rows as tables. */
function dataText(data: unknown): string {
  if (!isJsonObject(data)) return compactJson(data);
  const fields = Object.entries(data);
  const tables = fields.flatMap(([name, part]) =>
    isTable(part) ? [`${formatToken(name)}:\n${formatCompactTable(part)}`] : [],
  );
  return [compactJson(Object.fromEntries(fields.filter(([, part]) => !isTable(part)))), ...tables].join("\n");
}

interface ResultParts extends Advice, ResultFacts {
  /** Default: the data. */
  readonly fields?: ToolResult["fields"];
  readonly lines?: ToolResult["lines"];
  readonly isFull?: boolean | undefined;
}

/** Builds the result of every tool. */
export const toolResult = <T extends object>(
  data: T,
  { fields = data, lines = [], drift = [], ...facts }: ResultParts,
): ToolResult<T> => ({ data, fields, lines, drift, ...facts });

/** Who reads a result: the offered tools, and the default workspace, which a call may leave out. */
export interface ResultReader extends Reader {
  readonly workspaceId?: string | undefined;
}

/** Omits the default workspace, `own`. */
export const withoutWorkspace = (args: NextStep["arguments"], own: string | undefined): NextStep["arguments"] => {
  const { workspaceId, ...others } = args;
  return workspaceId !== undefined && workspaceId === own ? others : args;
};

/** An agent that is offered some tools, and may leave out the default workspace. */
export const agentReader = ({
  isOffered,
  workspaceId,
}: Pick<ResultReader, "isOffered" | "workspaceId">): ResultReader => ({
  isOffered,
  workspaceId,
  isTerminal: false,
  formatCall: (tool, args) => AGENT.formatCall(tool, withoutWorkspace(args, workspaceId)),
});

/** A step as its reader sees it. */
export interface RenderedStep extends Pick<NextStep, "tool" | "arguments"> {
  readonly why: string;
}

/** If retry_job is not offered, retry_jobs replaces it. Undefined if no offered tool can take the step. */
function renderStep({ tool, arguments: args, why }: NextStep, reader: ResultReader): RenderedStep | undefined {
  const { isOffered, workspaceId } = reader;
  const own = withoutWorkspace(args, workspaceId);
  if (isOffered(tool)) return { tool, arguments: own, why: render(why, reader) || "continues" };
  const { jobId, ...others } = own;
  if (tool !== "retry_job" || jobId === undefined || !isOffered("retry_jobs")) return undefined;
  return { tool: "retry_jobs", arguments: { jobIds: [jobId], ...others }, why: render(why, reader) };
}

const nextLine = ({ tool, arguments: args, why }: RenderedStep, { formatCall }: Reader): string =>
  `Next: ${formatCall(tool, args)} (${why})`;

/** A result as its reader sees it. */
export interface RenderedResult {
  /** The structuredContent. It follows the tool's output schema and needs no text. */
  readonly structured: { readonly summary: string; readonly nextStep?: RenderedStep };
  /** The data of a view, which only the view receives. */
  readonly view?: object;
  /** The same content in a shorter form, for clients that show only text. */
  readonly text: string;
}

function renderStructured(result: ToolResult, reader: ResultReader) {
  const { summary, nextStep: step, fields, isFull = false, requestId } = result;
  const nextStep = step && renderStep(step, reader);
  return {
    summary: render(summary, reader),
    ...(nextStep && { nextStep }),
    ...(typeof fields === "function" ? fields(reader) : fields),
    ...(isFull && requestId !== undefined && { requestId }),
  };
}

/** Renders a result for its reader. Omits a next step whose tool is not offered. `added`: added to the summary, and the last line of the text. */
export function renderResult(result: ToolResult, reader: ResultReader, added?: Text): RenderedResult {
  const { lines, isFull = false, requestId, view } = result;
  const structured = renderStructured(result, reader);
  const { summary, nextStep } = structured;
  const notice = added && render(added, reader);
  const text = [
    summary,
    nextStep && nextLine(nextStep, reader),
    ...lines.map((line) => {
      if (typeof line === "function") return line(reader);
      return typeof line === "object" ? render(line, reader) || undefined : line;
    }),
    isFull && requestId !== undefined ? `requestId ${formatToken(requestId)}` : undefined,
    notice,
  ];
  return {
    structured: notice === undefined ? structured : { ...structured, summary: `${summary} ${notice}` },
    ...(view && { view: renderStructured(view, reader) }),
    text: text.filter((line) => line !== undefined).join("\n"),
  };
}

export interface Envelope<T> {
  readonly data: T;
  readonly meta: { readonly requestId: string };
}

export type ResourceEndpoint<T> = JsonEndpoint<z.ZodType<Envelope<T>>>;

/** The API's response, and its time in milliseconds since 1970, if known. */
export interface ReadAnswer<T> extends DecodedBody<Envelope<T>> {
  readonly respondedAt?: number;
}

interface PresentationOptions extends Pick<ResultFacts, "action" | "notice" | "replay" | "requestId"> {
  readonly view?: View;
  /** True if this call has just created the resource (default false). */
  readonly isNew?: boolean;
}

/** Builds the result for one resource: its state, the next step and, after an action, the key and the attempts. */
export async function resourceResult<T extends object>(
  { value: { data, meta }, respondedAt, drift }: ReadAnswer<T>,
  describe: Describe<T>,
  { view, isNew, ...facts }: PresentationOptions = {},
): Promise<ToolResult<T>> {
  const { action, notice, replay } = facts;
  const { summary, fields, hasEnded = false, ...description } = await describe(data, respondedAt, isNew);
  const isFull = view === "full";
  const shown = withExactNumbers(isFull ? data : fields);
  const shownAction = action && { idempotencyKey: action.idempotencyKey, replayed: action.replayed };
  const lines = [
    action && say`idempotencyKey ${action.idempotencyKey}${action.replayed && own(", replayed")}`,
    dataText(shown),
  ];
  return toolResult(data, {
    summary: join([notice, action?.sent, summary]),
    fields: { data: shown, action: shownAction },
    requestId: meta.requestId,
    isFull,
    lines,
    drift,
    hasEnded,
    isReplay: replay && true,
    ...facts,
    ...description,
  });
}

/** Tools that the user can call in the view. The agent is not advised to call them too, so that they do not run twice. */
const USER_TRIGGERED_TOOLS: ReadonlySet<ToolName> = new Set(["retry_job", "cancel_job"]);

/** The view receives the data, the agent a short text without a link: some hosts do not pass results with a link to a view. */
export function toViewResult<T>(result: ToolResult<T>, notice: Text): ToolResult<T> {
  const { data, drift, summary, nextStep: step } = result;
  const nextStep = step && !USER_TRIGGERED_TOOLS.has(step.tool) ? step : undefined;
  return { data, drift, summary: join([notice, summary]), nextStep, fields: {}, lines: [], view: result };
}
