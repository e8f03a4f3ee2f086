// Finds the fields of an operation's request and the arguments of its tool, and values to try.
import { isDeepStrictEqual } from "node:util";
import * as z from "zod/v4";
import type { KeyGrammar } from "../src/contract/endpoints/endpoint.ts";
import { JobETag, resourceVersion } from "../src/contract/jobs.ts";
import { RecipeVersionId } from "../src/contract/recipes.ts";
import { dateTime, inputKey, processingKey, textKey } from "../src/contract/scalars.ts";
import { tools } from "../tools/index.ts";
import { type Grammar, grammarOf, isOptional } from "./contract/grammars.ts";
import type { OperationRow } from "./operations.ts";
import { runCount } from "./support/thorough.ts";
import { words } from "./support/words.ts";

type Values = Pick<Grammar, "accepts" | "refuses"> & Partial<Grammar>;

/** A parameter, a header, a body field, or an argument that only the tool has. */
export interface Field {
  /** Part of the request; undefined for an argument that only the tool has. */
  readonly location?: "path" | "query" | "header" | "body";
  /** Dotted path if the field is nested. */
  readonly name: string;
  readonly values: Values;
  readonly isOptional: boolean;
  /** No other field depends on it: a request with any valid value succeeds. */
  readonly isIndependent: boolean;
}

const INDEPENDENT = words("state limit sort alias clientReference purpose retryMode reason Idempotency-Key");

function locate(location: Field["location"], shape: z.ZodRawShape = {}, prefix = ""): readonly Field[] {
  return Object.entries(shape).flatMap(([key, schema]) => {
    if (!(schema instanceof z.ZodType)) return [];
    const name = prefix + key;
    const isIndependent = INDEPENDENT.includes(key);
    const field = { location, name, values: grammarOf(schema), isOptional: isOptional(schema), isIndependent };
    const item = schema instanceof z.ZodArray ? schema.element : undefined;
    return [field, ...(item instanceof z.ZodObject ? locate(location, item.shape, `${name}.0.`) : [])];
  });
}

export const fieldsOf = ({ pathParameters, query, body }: OperationRow): readonly Field[] => [
  ...locate("path", pathParameters.shape),
  ...locate("query", query.shape),
  ...locate("body", body?.shape),
];

const keys: Readonly<Record<KeyGrammar, z.ZodType>> = { text: textKey, input: inputKey, processing: processingKey };

export const headersOf = ({ idempotencyKey: key, ifMatch }: OperationRow): readonly Field[] =>
  locate("header", { ...(key && { "Idempotency-Key": keys[key] }), ...(ifMatch && { "If-Match": JobETag }) });

/** A valid value of each field, for a nested one within its outer field. */
export const sampleArguments = (row: OperationRow, isWanted = (_: Field) => true): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    fieldsOf(row).flatMap((field) =>
      field.name.includes(".") || !isWanted(field) ? [] : [[field.name, field.values.accepts[0]]],
    ),
  );

/** A text key becomes a header, so only printable ASCII is allowed (docs/interface.md, "Interpretations of the contract"). */
const textKeyArgument: Values = {
  accepts: ["k".repeat(8), "k".repeat(160), 'a b"c,d;e'],
  refuses: [
    ...["", "k".repeat(7), "k".repeat(161), " ".repeat(8), " kkkkkkkk", "kkkkkkkk ", "schlüssel", "kkkkkkkk\n"],
    ...["\u0000", "\u001f", "\u007f", "\u009f"].map((control) => `text${control}text`),
    ...grammarOf(z.string()).refuses,
  ],
};

/** Values of the arguments that only tools have. */
const TOOL_ARGUMENTS: Readonly<Record<string, Values>> = {
  waitSeconds: { accepts: [0], refuses: [-1, 0.5, "0", true, null] },
  view: grammarOf(z.enum(["summary", "full"])),
  states: {
    accepts: [["FAILED"], ["QUEUED", "PAUSED"]],
    refuses: [[], "FAILED", Array(9).fill("FAILED"), null, {}],
  },
  recipeVersionId: grammarOf(RecipeVersionId),
  createdSince: grammarOf(dateTime),
  createdBefore: grammarOf(dateTime),
  updatedSince: grammarOf(dateTime),
  unretried: grammarOf(z.boolean()),
  preview: grammarOf(z.boolean()),
  resourceVersion: grammarOf(resourceVersion),
  fileName: {
    accepts: ["a-copy.csv"],
    refuses: ["", ".", "..", "a/b", "a\\b", "a\n", ...grammarOf(z.string()).refuses],
  },
};

/** Values of arguments that accept more than the operation's field, by tool and name. */
const WIDENED: Readonly<Record<string, Values>> = {
  "list_districts state": {
    accepts: ["TG", "tg", "Telangana"],
    refuses: ["", "T", "T1", "T ", "TG\n", "x".repeat(81), 36, true, null, ["TG"], {}],
  },
};

const Schema = z.object({ properties: z.record(z.string(), z.unknown()).default({}) });

/** The arguments of the operation's tool: the fields of the operation, and others. */
export function argumentsOf(row: OperationRow): readonly Field[] {
  const tool = tools.find(({ name }) => name === row.tool);
  const isArgument = ({ name }: Field): boolean => !Object.hasOwn(tool?.setByTool ?? {}, name.split(".")[0] ?? "");
  const fields = fieldsOf(row)
    .filter(isArgument)
    .map((field) => ({ ...field, values: WIDENED[`${row.tool} ${field.name}`] ?? field.values }));
  const { properties } = Schema.parse(tool?.inputSchema());
  const own = Object.keys(properties).filter((name) => !fields.some((field) => field.name === name));
  return [
    ...fields,
    ...own.map((name) => {
      const ofKey = row.idempotencyKey === "text" ? textKeyArgument : grammarOf(keys[row.idempotencyKey ?? "text"]);
      const values = name === "idempotencyKey" ? ofKey : TOOL_ARGUMENTS[name];
      if (!values) throw new Error(`test/fields.ts has no values for the argument ${name} of ${row.tool}`);
      return { name, values, isOptional: true, isIndependent: false };
    }),
  ];
}

function isJson(value: unknown): boolean {
  try {
    return isDeepStrictEqual(JSON.parse(JSON.stringify(value)), value);
  } catch {
    return false;
  }
}

/** Maximum number of values of the right type that are sent per field. The schema tests try all of them. */
const MAX_SENT_VALUES = runCount(12, 40);

const typeOf = (value: unknown): string => (value === null ? "null" : Array.isArray(value) ? "array" : typeof value);

/** Selects values that a caller can send: of the right type evenly, and one of each wrong type. */
function selectSendable({ accepts }: Values, values: readonly unknown[]): readonly unknown[] {
  const own = new Set(accepts.map(typeOf));
  const json = values.filter(isJson);
  const right = json.filter((value) => own.has(typeOf(value)));
  const wrong = json.filter((value) => !own.has(typeOf(value)));
  const step = Math.ceil(right.length / MAX_SENT_VALUES);
  return [
    ...right.filter((_, at) => at % step === 0 || at === right.length - 1),
    ...new Map(wrong.map((value) => [typeOf(value), value])).values(),
  ];
}

export const goodValues = (values: Values): readonly unknown[] => selectSendable(values, values.accepts);
export const badValues = (values: Values): readonly unknown[] =>
  selectSendable(values, [...values.refuses, ...(values.refusesBeyondJsonSchema ?? [])]);
