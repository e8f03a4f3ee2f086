// The shapes of results (docs/interface.md, "Results"): what an agent gets as structuredContent and, lean, as text.
import { isJsonObject } from "../contract/json.ts";
import type { JsonSchema } from "../contract/json-schema.ts";
import { escaped, json, word } from "../outside.ts";
import type { Decoded } from "../service/decode.ts";
import type { ToolCall, ToolResult } from "./define-tool.ts";
import { isTable, wholeTable } from "./whole-table.ts";

/** The one call that makes sense next, with its arguments filled in. */
export interface NextStep {
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly why: string;
}

/** What happened, in one sentence, and what to do about it. */
export interface Telling {
  readonly summary: string;
  readonly nextStep?: NextStep;
}

/** How a kind of resource is told: the URI that names it, and the row of the table that fits it. */
export interface Subject<T> {
  readonly uri: (resource: T) => string | undefined;
  /** `readAt`: when it was so, in milliseconds since 1970; undefined of an answer that was kept. */
  readonly tell: (resource: T, call: ToolCall, readAt?: number) => Telling | Promise<Telling>;
}

export interface ActionReport {
  readonly idempotencyKey: string;
  readonly replayed: boolean;
  readonly attempts: number;
}

/** Numbers that JSON.stringify refuses, or makes null of: integers beyond 2^53-1, and what no double holds (1e400). */
const isUnsayable = (value: unknown): boolean =>
  typeof value === "bigint" || (typeof value === "number" && !Number.isFinite(value));

const holdsUnsayable = (value: unknown): boolean => {
  if (Array.isArray(value)) return value.some(holdsUnsayable);
  if (!isJsonObject(value)) return isUnsayable(value);
  for (const name in value) if (holdsUnsayable(value[name])) return true;
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
export const exact = (value: unknown): unknown => (holdsUnsayable(value) ? inDigits(value) : value);

/** The same for an object's fields. */
export const exactFields = (object: object): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(object).map(([name, part]) => [name, exact(part)]));

/** Compact JSON without nulls and empty lists. */
export const lean = (value: unknown): string =>
  escaped(
    JSON.stringify(value, (_name, part: unknown) =>
      part === null || (Array.isArray(part) && part.length === 0) ? undefined : part,
    ),
  );

/** As compact JSON; lists of rows follow as tables. */
function dataText(data: unknown): string {
  if (!isJsonObject(data)) return lean(data);
  const tables = Object.entries(data).filter(([, part]) => isTable(part));
  const names = tables.map(([name]) => name);
  const rest = Object.fromEntries(Object.entries(data).filter(([name]) => !names.includes(name)));
  const texts = tables.map(([name, rows]) => `${name}:\n${wholeTable(isTable(rows) ? rows : [])}`);
  return [lean(rest), ...texts].join("\n");
}

export const callText = (step: Omit<NextStep, "why">): string => `${step.tool} ${json(step.arguments)}`;

/** Rows under a header line, tab-separated: columns are said once. No cell holds a tab or a line's end. */
export const table = (columns: readonly string[], rows: readonly (readonly (string | number)[])[]): string =>
  [columns, ...rows].map((cells) => cells.map((cell) => escaped(String(cell))).join("\t")).join("\n");

interface Envelope<T> {
  readonly data: T;
  readonly meta: { readonly requestId: string };
}

interface Told {
  readonly telling?: Telling;
  readonly action?: ActionReport;
  readonly link?: string;
}

function result(answer: Decoded<Envelope<unknown>>, { telling, action, link }: Told): ToolResult {
  const data = exact(answer.value.data);
  const { summary, nextStep } = telling ?? {};
  const structured = {
    ...(summary !== undefined && { summary }),
    ...(nextStep && { nextStep }),
    data,
    meta: answer.value.meta,
    ...(action && { action }),
  };
  const lines = [
    summary,
    nextStep && `Next: ${callText(nextStep)} (${nextStep.why})`,
    action &&
      `idempotencyKey ${word(action.idempotencyKey)}${action.replayed ? ", replayed" : ""}, attempts ${action.attempts}`,
    dataText(data),
  ];
  return {
    structured,
    text: lines.filter((line) => line !== undefined).join("\n"),
    drift: answer.drift,
    ...(link !== undefined && { link }),
  };
}

/** One resource as it is. `link`: the URI that names it; `summary`: what it does not say itself. */
export const resourceResult = (answer: Decoded<Envelope<unknown>>, link?: string, summary?: string): ToolResult =>
  result(answer, { ...(link !== undefined && { link }), ...(summary !== undefined && { telling: { summary } }) });

/**
 * One resource with what happened to it and what to do next; a step that is not offered here is no step. `notice` comes first
 * of all.
 */
export async function toldResult<T>(
  answer: Decoded<Envelope<T>> & { readonly at?: number },
  subject: Subject<T>,
  call: ToolCall,
  action?: ActionReport,
  notice?: string,
): Promise<ToolResult> {
  const { data } = answer.value;
  const { summary: told, nextStep } = await subject.tell(data, call, answer.at);
  const summary = notice === undefined ? told : `${notice} ${told}`;
  const telling = { summary, ...(nextStep && call.isOffered(nextStep.tool) && { nextStep }) };
  const link = subject.uri(data);
  return result(answer, { telling, ...(link !== undefined && { link }), ...(action && { action }) });
}

const object: JsonSchema = { type: "object" };
const text: JsonSchema = { type: "string" };

const shape = (properties: Record<string, JsonSchema>, optional: readonly string[] = []): JsonSchema => ({
  type: "object",
  properties,
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
});

/** Output schemas are shallow on purpose: answers were already held against the whole contract. */
export const outputs = {
  resource: shape({ data: object, meta: object }),
  usage: shape({ summary: text, data: object, meta: object }, ["summary"]),
  toldResource: shape({ summary: text, nextStep: object, data: object, meta: object }, ["nextStep"]),
  action: shape(
    {
      summary: text,
      nextStep: object,
      data: object,
      meta: object,
      action: object,
    },
    ["nextStep"],
  ),
  page: shape({
    data: { type: "array", items: object },
    page: object,
    meta: object,
  }),
  states: shape({ contract: text, states: { type: "array", items: object } }),
  districts: shape({ contract: text, state: text, districts: { type: "array", items: object } }),
  openApi: shape({ openapi: text, info: object, paths: object }),
  foundDistricts: shape({
    query: text,
    matches: { type: "array", items: object },
    ambiguous: { type: "boolean" },
    coverage: object,
    vintage: object,
  }),
  ranking: shape({
    rows: { type: "array", items: object },
    totalRows: { type: "integer" },
    totals: object,
    exact: { type: "boolean" },
    consistency: { type: "array", items: text },
    coverage: object,
    vintage: object,
  }),
  actions: shape({ actions: { type: "array", items: object } }),
  file: shape({ path: text, bytes: { type: "integer" }, sha256: text, contentType: text, fileName: text }),
} as const;
