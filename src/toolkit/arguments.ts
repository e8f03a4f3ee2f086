// The arguments of tools: fields that several tools share, how tools/list shows them, how they are checked, and the request of an
// endpoint that they make.
import * as z from "zod/v4";
import type { Arguments } from "../actions/fingerprint.ts";
import { keySchemas } from "../actions/idempotency-keys.ts";
import type { CallRequest } from "../api-client/encode.ts";
import { fileNameSchema } from "../api-client/file-names.ts";
import type { Endpoint, KeyGrammar } from "../contract/endpoints/endpoint.ts";
import { getMicJob } from "../contract/endpoints/job-processing.ts";
import { isJsonObject, type Json, type JsonObject, jsonObject } from "../contract/json.ts";
import { jsonPointer } from "../contract/json-pointer.ts";
import { type JsonSchema, toJsonSchema } from "../contract/json-schema.ts";
import { WORKSPACE_STYLE_ID } from "../contract/text.ts";
import { invalidArguments } from "../core/failure.ts";
import { throwInvalidArguments } from "./argument-errors.ts";

export const view = z.enum(["summary", "full"]).optional();

export const waitSeconds = z.int().min(0).max(45).describe("Default 0; cancelling ends the waiting only.").optional();

/** Of a tool that can save its rows instead of showing them. */
export const saveAs = fileNameSchema.describe("Saves all rows as CSV.").optional();

/** A text whose grammar is checked, not listed: what is copied from a result or described by another tool need not be repeated. */
export const stringValidatedBy = (schema: z.ZodType<string | null | undefined>) =>
  z.string().superRefine((value, { addIssue }) => {
    for (const { message } of schema.safeParse(value).error?.issues ?? []) addIssue({ code: "custom", message });
  });

const MAX_JOBS = 50;

export const jobIds = z
  .array(stringValidatedBy(getMicJob.pathParameters.shape.jobId))
  .max(MAX_JOBS)
  .refine((ids) => ids.length > 0, { error: "must name a job" })
  .refine((ids) => new Set(ids).size === ids.length, { error: "must be unique" });

export const LONG_WAIT_SECONDS = 45;
/** Of tools that are called in order to wait, for the whole call (default: the maximum). */
export const longWaitSeconds = z
  .custom<number>((value) => z.int().min(0).max(LONG_WAIT_SECONDS).safeParse(value).success, {
    error: `must be a whole number from 0 to ${LONG_WAIT_SECONDS}`,
  })
  .meta({ type: "integer", maximum: LONG_WAIT_SECONDS })
  .optional();

const KEY_LENGTHS: Readonly<Record<KeyGrammar, string>> = {
  text: "8 to 160",
  input: "1 to 128",
  processing: "8 to 128",
};

/** The `idempotencyKey` argument of an action (docs/interface.md, "Tools"). Its grammar is checked, but not listed as a pattern. */
export const keyArgument = (grammar: KeyGrammar) => ({
  idempotencyKey: stringValidatedBy(keySchemas[grammar])
    .describe(
      "Leave out. To run an identical call again, pass a new key; to ask about an earlier action, pass its key. " +
        `${KEY_LENGTHS[grammar]} characters.`,
    )
    .optional(),
});

function parseJsonObject(value: unknown): unknown {
  if (typeof value !== "string") return value;
  try {
    const parsed: unknown = JSON.parse(value);
    return isJsonObject(parsed) ? parsed : value;
  } catch {
    return value;
  }
}

/** A free-form object. Some models send it as a string of JSON: that is read as the object that it holds. Listed as an object alone. */
export const objectArgument = z.preprocess(parseJsonObject, jsonObject);

/** As long as an id of the contract, or as a cursor. */
const ID_AND_CURSOR_LENGTHS: ReadonlySet<unknown> = new Set([128, 4096]);

/** Each agent pays for tools/list in each session: it does not need the grammar of what it copies from a result. */
const isListedKeyword = ([keyword, value]: readonly [string, unknown]): boolean =>
  keyword !== "minLength" &&
  !(keyword === "maxLength" && ID_AND_CURSOR_LENGTHS.has(value)) &&
  !(keyword === "pattern" && value === WORKSPACE_STYLE_ID.source);

function omitUnlistedKeywords(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(omitUnlistedKeywords);
  if (!isJsonObject(schema)) return schema;
  const kept = Object.entries(schema).filter(isListedKeyword);
  return Object.fromEntries(kept.map(([keyword, value]) => [keyword, omitUnlistedKeywords(value)]));
}

/** A tool's arguments as tools/list shows them: what an agent needs to write a call. All of the schema is checked. */
export function toListedSchema(input: z.ZodType): JsonSchema {
  const schema = omitUnlistedKeywords(toJsonSchema(input, "input"));
  return isJsonObject(schema) ? schema : {};
}

/** JSON numbers beyond 2^53-1, 1e400 among them, were already rounded when they arrived: sent on they would be others (doubt 18). */
function rejectRoundedNumbers(name: string, value: unknown, path: readonly PropertyKey[]): void {
  if (typeof value === "number" && Math.abs(value) > Number.MAX_SAFE_INTEGER)
    throw invalidArguments(`${name} was not called: a number beyond 9007199254740991 cannot be sent exactly.`, [
      { pointer: jsonPointer(path), code: "NOT_EXACT", message: "must be at most 9007199254740991 in magnitude" },
    ]);
  if (typeof value === "object" && value !== null)
    for (const [key, part] of Object.entries(value)) rejectRoundedNumbers(name, part, [...path, key]);
}

/** Checks the arguments of the tool of this name strictly. `listed`: its input schema as tools/list shows it. Throws Failure. */
export function checkArguments<I extends z.ZodRawShape>(
  name: string,
  input: z.ZodObject<I, z.core.$strict>,
  listed: JsonSchema,
  args: Arguments,
) {
  const parsed = input.safeParse(args);
  if (!parsed.success) return throwInvalidArguments(name, listed, args, parsed.error);
  rejectRoundedNumbers(name, parsed.data, []);
  return parsed.data;
}

/** Arguments as an agent may send them: an object, or nothing at all. */
export function toArgumentsObject(name: string, args: unknown): Arguments {
  if (args === undefined) return {};
  if (isJsonObject(args)) return { ...args };
  throw invalidArguments(`${name} was not called: arguments must be a JSON object.`);
}

const isText = (value: unknown): value is string => typeof value === "string";
const isTextOrNumber = (value: unknown): value is string | number => isText(value) || typeof value === "number";
// Arguments come out of JSON and a strict schema.
const isJson = (value: unknown): value is Json => value !== undefined && typeof value !== "function";

function pick<T>(args: Arguments, fields: object, fits: (value: unknown) => value is T): Record<string, T> {
  const picked: Record<string, T> = {};
  for (const name of Object.keys(fields)) {
    const value = args[name];
    if (fits(value)) picked[name] = value;
  }
  return picked;
}

/** From a tool's flat arguments to the endpoint's request: path, query, body. */
export function toCallRequest({ pathParameters, query, body: schema }: Endpoint, args: Arguments): CallRequest {
  const body: JsonObject | undefined = schema && pick(args, schema.shape, isJson);
  return {
    path: pick(args, pathParameters.shape, isText),
    query: pick(args, query.shape, isTextOrNumber),
    ...(body && { body }),
  };
}
