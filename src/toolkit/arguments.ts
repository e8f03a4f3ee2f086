// Handles the arguments of tools: shared fields, their listing, their validation, and their conversion to the request of an endpoint.

import { isLosslessNumber } from "lossless-json";
import * as z from "zod/v4";
import type { Arguments } from "../actions/fingerprint.ts";
import { keySchemas } from "../actions/idempotency-keys.ts";
import type { CallRequest } from "../api-client/encode.ts";
import { ID_ARGUMENT_TEXTS } from "../api-client/id-kinds.ts";
import type { Endpoint, KeyGrammar } from "../contract/endpoints/endpoint.ts";
import { getMicJob } from "../contract/endpoints/job-processing.ts";
import {
  isJsonObject,
  type Json,
  type JsonObject,
  type JsonSchema,
  jsonPointer,
  MAX_DEPTH,
  schemaOf,
  toJsonSchema,
} from "../contract/json.ts";
import { MAX_SAFE } from "../contract/scalars.ts";
import { invalidArguments } from "../core/failure.ts";
import { say } from "../core/text.ts";
import { CALL_LIMIT_SECONDS } from "../core/time-limits.ts";
import { excerpt } from "../core/untrusted-text.ts";
import { describeIssue, refuseAbsentTexts, throwInvalidArguments } from "./argument-errors.ts";

export const view = z.enum(["summary", "full"]).optional();

export const waitSeconds = z.int().min(0).max(CALL_LIMIT_SECONDS).describe("Default 0.").optional();

/** A string that is validated, but whose pattern is left out of `tools/list`: agents copy it from a result. */
export const stringValidatedBy = (schema: z.ZodType<string | null | undefined>) =>
  z.string().superRefine((value, { addIssue }) => {
    for (const issue of schema.safeParse(value, { error: describeIssue }).error?.issues ?? [])
      addIssue({ code: "custom", message: issue.message, params: issue.code === "custom" ? issue.params : undefined });
  });

export const MAX_JOBS = 50;

export const jobIds = z.array(stringValidatedBy(getMicJob.pathParameters.shape.jobId)).min(1).max(MAX_JOBS);

export const LONG_WAIT_SECONDS = CALL_LIMIT_SECONDS;
/** For tools whose purpose is to wait: the limit for the whole call in seconds (default: the maximum). */
export const longWaitSeconds = z
  .custom<number>((value) => z.int().min(0).max(LONG_WAIT_SECONDS).safeParse(value).success, {
    error: `must be a whole number from 0 to ${LONG_WAIT_SECONDS}`,
  })
  .meta({ type: "integer", maximum: LONG_WAIT_SECONDS })
  .describe(`Default ${LONG_WAIT_SECONDS}.`)
  .optional();

/** The `idempotencyKey` argument of an action (docs/interface.md, "Tools"). Its grammar is checked, but not listed as a pattern. */
export const keyArgument = (grammar: KeyGrammar) => ({
  idempotencyKey: stringValidatedBy(keySchemas[grammar])
    .describe("Leave out. New: runs again. Earlier: resumes.")
    .optional(),
});

// Descriptions of arguments that several tools have.
export const cursorText = "Previous page.nextCursor.";
export const parameterValuesText = "As get_recipe's schema requires.";
export const reasonText = "Why, briefly.";
export const retryModeText = "SAFE_RESUME keeps finished stages; RESTART discards them: ask the user first.";

/** Each agent pays for tools/list in each session. These keywords help no model to write a call; the server checks them in any case. */
const UNLISTED_KEYWORDS: ReadonlySet<string> = new Set(["minLength", "maxLength", "pattern", "minItems", "maxItems"]);

const isListedKeyword = ([keyword, value]: readonly [string, unknown]): boolean =>
  !UNLISTED_KEYWORDS.has(keyword) &&
  !(keyword === "additionalProperties" && value === true) &&
  !(keyword === "minimum" && (value === 0 || value === 1)) &&
  !(keyword === "maximum" && value === Number.MAX_SAFE_INTEGER);

/** Descriptions of arguments that mean the same in each tool that has them. */
const COMMON_DESCRIPTIONS: Readonly<Record<string, string>> = {
  ...ID_ARGUMENT_TEXTS,
  workspaceId: "Optional if configured.",
  inputKind: "A job's output is a DATASET_VERSION.",
  port: "A port of the recipe.",
  name: "A single name.",
  level: "What a row is.",
  limit: "At most this many.",
  state: "Only this state.",
  states: "Only these states.",
  window: "Period of the quotas.",
  until: "Default: all.",
  createdSince: "Date or time.",
  createdBefore: "Date or time.",
  updatedSince: "Date or time.",
  source: "Tool to call.",
};

function withCommonDescriptions(schema: JsonSchema): JsonSchema {
  const { properties, items } = schema;
  const described = Object.entries(schemaOf(properties)).map(([name, property]) => {
    const own = withCommonDescriptions(schemaOf(property));
    const common = own["description"] === undefined ? COMMON_DESCRIPTIONS[name] : undefined;
    return [name, common === undefined ? own : { ...own, description: common }];
  });
  return {
    ...schema,
    ...(isJsonObject(properties) && { properties: Object.fromEntries(described) }),
    ...(isJsonObject(items) && { items: withCommonDescriptions(schemaOf(items)) }),
  };
}

function omitUnlistedKeywords(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(omitUnlistedKeywords);
  if (!isJsonObject(schema)) return schema;
  const kept = Object.entries(schema).filter(isListedKeyword);
  return Object.fromEntries(kept.map(([keyword, value]) => [keyword, omitUnlistedKeywords(value)]));
}

/** Returns the argument schema for tools/list, reduced to what an agent needs to write a call. Calls are checked against all of it. */
export function toListedSchema(input: z.ZodType): JsonSchema {
  return withCommonDescriptions(schemaOf(omitUnlistedKeywords(toJsonSchema(input, "input"))));
}

const MAX_SHOWN_DIGITS = 40;

function notExactMessage(digits: string): string {
  const rounded = Number(digits);
  const isTooLarge = Math.abs(rounded) > MAX_SAFE;
  const limit = isTooLarge ? `must be at most ${MAX_SAFE} in magnitude; ` : "";
  const arriving = Number.isFinite(rounded) ? rounded : "null";
  return `${limit}${excerpt(digits, MAX_SHOWN_DIGITS)} would arrive as ${arriving}; pass a string${isTooLarge ? "" : `, or ${rounded}`}`;
}

/** Refuses a number that the API would receive as another one (open question 18). A schema refuses deeper values. */
function refuseLossyNumbers(name: string, value: unknown, path: readonly PropertyKey[]): void {
  if (isLosslessNumber(value))
    throw invalidArguments(say`${name} was not called: a number cannot be sent exactly.`, [
      { pointer: jsonPointer(path), code: "NOT_EXACT", message: notExactMessage(value.value) },
    ]);
  if (typeof value === "object" && value !== null && path.length <= MAX_DEPTH)
    for (const [key, part] of Object.entries(value)) refuseLossyNumbers(name, part, [...path, key]);
}

/** Validates the arguments of the named tool, and rejects unknown ones. `listed`: its input schema in tools/list. Throws Failure (invalid_arguments). */
export function checkArguments<I extends z.ZodRawShape>(
  name: string,
  input: z.ZodObject<I, z.core.$strict>,
  listed: JsonSchema,
  args: Arguments,
) {
  refuseLossyNumbers(name, args, []);
  const parsed = input.safeParse(args, { error: describeIssue });
  if (!parsed.success) return throwInvalidArguments(name, listed, args, parsed.error);
  refuseAbsentTexts(name, listed, args);
  return parsed.data;
}

/** Returns the arguments of a call, which must be an object or absent. Throws Failure (invalid_arguments). */
export function toArgumentsObject(name: string, args: unknown): Arguments {
  if (args === undefined) return {};
  if (isJsonObject(args)) return { ...args };
  throw invalidArguments(say`${name} was not called: arguments must be a JSON object.`);
}

const isText = (value: unknown): value is string => typeof value === "string";
const isTextOrNumber = (value: unknown): value is string | number => isText(value) || typeof value === "number";
// Arguments come from JSON and a strict schema, so no other check is necessary.
const isJson = (value: unknown): value is Json => value !== undefined && typeof value !== "function";

function pick<T>(args: Arguments, fields: object, fits: (value: unknown) => value is T): Record<string, T> {
  const picked: Record<string, T> = {};
  for (const name of Object.keys(fields)) {
    const value = args[name];
    if (fits(value)) picked[name] = value;
  }
  return picked;
}

/** Converts a tool's flat arguments to the path, query and body of the endpoint's request. */
export function toCallRequest({ pathParameters, query, body: schema }: Endpoint, args: Arguments): CallRequest {
  const body: JsonObject | undefined = schema && pick(args, schema.shape, isJson);
  return {
    path: pick(args, pathParameters.shape, isText),
    query: pick(args, query.shape, isTextOrNumber),
    body,
  };
}
