// Refusals of wrong arguments: each names the argument, states whether it is missing, and lists the accepted values or names.

import type * as z from "zod/v4";
import type { Arguments } from "../actions/fingerprint.ts";
import { idKindOf, OUTPUT_AS_INPUT } from "../api-client/id-kinds.ts";
import { type JsonSchema, jsonPointer, schemaOf } from "../contract/json.ts";
import type { FieldError } from "../contract/problem.ts";
import { parseDateTime } from "../contract/scalars.ts";
import { countPart } from "../core/counts.ts";
import { type Failure, invalidArguments, notConfigured } from "../core/failure.ts";
import { ask, forReader, own, say, type Text } from "../core/text.ts";
import { excerpt, quote } from "../core/untrusted-text.ts";
import { ABSENT_TEXTS, isOptional, nearMissTargets } from "./tolerant-arguments.ts";

/** "a, b or c" */
const joinWithOr = (values: readonly string[]): string =>
  values.length < 2 ? values.join("") : `${values.slice(0, -1).join(", ")} or ${values.at(-1)}`;

const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "a JSON object",
  record: "a JSON object",
};

function formatType(value: unknown): string {
  if (value === null || typeof value === "boolean") return String(value);
  return (Array.isArray(value) ? TYPE_NAMES["array"] : TYPE_NAMES[typeof value]) ?? "this";
}

/** Formats "at least 2 characters long" for a bound of a string, a list or a number. */
function formatBound(word: string, bound: number | bigint, origin: string): string {
  if (origin === "string") return `must be ${word} ${bound} characters long`;
  return origin === "array"
    ? `must have ${word} ${bound} ${bound === 1 || bound === 1n ? "item" : "items"}`
    : `must be ${word} ${bound}`;
}

/** The sentence for a violation of one of zod's own rules. A rule that a schema explains has its own message. */
export function describeIssue(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case "invalid_type":
      return `must be ${TYPE_NAMES[issue.expected] ?? issue.expected}, not ${formatType(issue.input)}`;
    case "too_small":
      return formatBound(issue.inclusive === false ? "more than" : "at least", issue.minimum, issue.origin);
    case "too_big":
      return formatBound(issue.inclusive === false ? "less than" : "at most", issue.maximum, issue.origin);
    case "invalid_value":
      return `must be ${joinWithOr(issue.values.map(String))}`;
    case "invalid_format":
      return issue.pattern === undefined ? `must be a valid ${issue.format}` : `must match ${issue.pattern}`;
    case "not_multiple_of":
      return `must be a multiple of ${issue.divisor}`;
    case "invalid_union":
      return "has none of the accepted forms";
    case "invalid_key":
    case "invalid_element":
      return "has an entry that is not valid";
    default:
      return undefined;
  }
}

/** A message may contain many unknown arguments with long names: the answer must not be as long. */
const MAX_UNKNOWN = 20;
const MAX_NAME = 200;

function valueAt(value: unknown, [key, ...rest]: readonly PropertyKey[]): unknown {
  if (key === undefined) return value;
  return typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? valueAt(Reflect.get(value, key), rest)
    : undefined;
}

function schemaAt(schema: JsonSchema, [key, ...rest]: readonly PropertyKey[]): JsonSchema {
  if (key === undefined) return schema;
  return schemaAt(
    schemaOf(typeof key === "number" ? schema["items"] : schemaOf(schema["properties"])[String(key)]),
    rest,
  );
}

function formatChoices({ enum: values }: JsonSchema): string | undefined {
  return Array.isArray(values) ? `must be ${joinWithOr(values.map(String))}` : undefined;
}

const LOCAL_DATE_TIME = /^\s*\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?\s*$/i;

/** Some fields accept only some date-times: then the issue says which. */
function dateTimeMessage(value: unknown, { message }: z.core.$ZodIssue): string {
  if (typeof value !== "string" || parseDateTime(value) !== undefined) return message;
  return `${LOCAL_DATE_TIME.test(value) ? "needs a time zone" : "must be a date or a date-time"}, for example 2026-11-22T00:00:00Z`;
}

/** A rule about several arguments has its own message and code, although the one that it is about may be absent. */
const isMissing = (issue: z.core.$ZodIssue, value: unknown): boolean =>
  value === undefined && !(issue.code === "custom" && issue.params?.["code"] !== undefined);

function messageOf(issue: z.core.$ZodIssue, value: unknown, schema: JsonSchema): string {
  const choices = formatChoices(schema);
  if (isMissing(issue, value)) return choices === undefined ? "is missing" : `is missing; ${choices}`;
  // A schema may explain its choices; the general message only repeats them.
  if (issue.code === "invalid_value" && choices !== undefined)
    return issue.message.startsWith("must be ") ? choices : `${choices}; ${issue.message}`;
  return schema["format"] === "date-time" ? dateTimeMessage(value, issue) : issue.message;
}

/** The nearest way to what an argument would do that no tool has. */
const OTHER_WAYS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  list_jobs: {
    failureCode: 'states ["FAILED"] groups jobs by the code of their failure',
    clientReference: "rows show it",
  },
};

/** `given`: the object with the unknown arguments. Adds to `misnamed` each name that stands for an argument which is not given. */
function unknownErrors(
  { keys, path }: z.core.$ZodIssueUnrecognizedKeys,
  tool: string,
  schema: JsonSchema,
  given: unknown,
  misnamed: Set<string>,
): readonly FieldError[] {
  const known = Object.keys(schemaOf(schema["properties"]));
  return keys.slice(0, MAX_UNKNOWN).map((key) => {
    const targets = nearMissTargets(tool, key, known);
    const other = targets.find((each) => valueAt(given, [each]) !== undefined);
    const way = new Map(Object.entries(OTHER_WAYS[tool] ?? {})).get(key);
    if (other === undefined && targets.length > 0) misnamed.add(key);
    const message =
      other !== undefined
        ? `unknown argument; remove it, because ${other} is also given`
        : targets.length > 0
          ? `unknown argument; use ${joinWithOr(targets)}`
          : `unknown argument; ${way === undefined ? "" : `${way}; `}known: ${known.join(", ")}`;
    return {
      pointer: jsonPointer([...path, excerpt(key, MAX_NAME)]),
      code: "UNKNOWN_ARGUMENT",
      message,
    };
  });
}

/** Returns the code of a violation: what the caller has to correct. Our own rules state it as a parameter. */
function codeOf(issue: z.core.$ZodIssue, value: unknown): string {
  if (isMissing(issue, value)) return "REQUIRED";
  return issue.code === "custom" ? String(issue.params?.["code"] ?? "INVALID") : issue.code.toUpperCase();
}

function invalid(tool: string, fieldErrors: readonly FieldError[], next?: Text): Failure {
  const { size: count } = new Set(fieldErrors.map(({ pointer }) => pointer));
  return invalidArguments(
    say`${countPart(count, "argument")} of ${tool} ${own(count === 1 ? "is" : "are")} invalid.`,
    fieldErrors,
    next,
  );
}

/** The workspace is part of the setup, and no tool lists workspaces (docs/contract.md, 1). */
export const noWorkspace = (): Failure =>
  notConfigured(
    say`No default workspace is configured.`,
    say`${ask("Set")} MIC_WORKSPACE_ID to the id (micws_…) that Load current workspace in the console copies, or ${forReader("pass", "add")} workspaceId.`,
  );

/** Names every violation by its pointer. `listed`: the schema as tools/list shows it. */
export function throwInvalidArguments(name: string, listed: JsonSchema, args: Arguments, error: z.ZodError): never {
  const explained = new Set<string>();
  const seen = new Set<string>();
  const misnamed = new Set<string>();
  const fieldErrors = error.issues.flatMap((issue): readonly FieldError[] => {
    const schema = schemaAt(listed, issue.path);
    if (issue.code === "unrecognized_keys")
      return unknownErrors(issue, name, schema, valueAt(args, issue.path), misnamed);
    const pointer = jsonPointer(issue.path);
    const value = valueAt(args, issue.path);
    // For a value of the wrong type, or an empty text, further errors are not useful.
    if (explained.has(pointer)) return [];
    if (issue.code === "invalid_type" || value === "") explained.add(pointer);
    const message = messageOf(issue, value, schema);
    const isRepeated = seen.has(`${pointer} ${message}`);
    seen.add(`${pointer} ${message}`);
    return isRepeated ? [] : [{ pointer, code: codeOf(issue, value), message }];
  });
  const lacksOnly = fieldErrors.every(({ code }) => code === "REQUIRED");
  const lacksWorkspace = lacksOnly && fieldErrors.some(({ pointer }) => pointer === "/workspaceId");
  if (lacksWorkspace && fieldErrors.length === 1) throw noWorkspace();
  // An id under another name is not lacking.
  const findId = misnamed.size === 0 ? findAdvice(fieldErrors) : undefined;
  throw invalid(name, fieldErrors, lacksWorkspace ? noWorkspace().facts.next : findId);
}

/** Arguments that take the ids of files. `referenceId` also takes ids of other kinds. */
const FILE_ARGUMENTS: ReadonlySet<string> = new Set(["referenceId", "files"]);

/** Codes of an id that a call lacks, or has in a wrong form. */
const NO_ID: ReadonlySet<string> = new Set(["REQUIRED", "INVALID_FORMAT", "LENGTH"]);

/** Returns where the id comes from that a call lacks, or has in a wrong form. */
function findAdvice(fieldErrors: readonly FieldError[]): Text | undefined {
  for (const { pointer, code } of fieldErrors) {
    const [name = ""] = /[^/]+(?=(?:\/\d+)?$)/.exec(pointer) ?? [];
    const isFile = FILE_ARGUMENTS.has(name);
    const isLacking = NO_ID.has(code) || (isFile && code === "INVALID");
    const find = isLacking ? idKindOf(isFile ? "assetId" : name)?.find : undefined;
    if (find) return isFile ? say`${find} ${OUTPUT_AS_INPUT}` : find;
  }
  return undefined;
}

/** Refuses the text "null" as an optional id, key, name or other text: no caller means it. Throws Failure (invalid_arguments). */
export function refuseAbsentTexts(name: string, listed: JsonSchema, args: Arguments): void {
  const fieldErrors = Object.entries(args).flatMap(([argument, value]): readonly FieldError[] => {
    if (!ABSENT_TEXTS.has(value) || !isOptional(listed, argument)) return [];
    const message = `must not be the text ${quote(String(value))}; leave it out if there is none`;
    return [{ pointer: jsonPointer([argument]), code: "INVALID", message }];
  });
  if (fieldErrors.length > 0) throw invalid(name, fieldErrors);
}
