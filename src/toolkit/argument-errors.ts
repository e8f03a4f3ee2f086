// Refusals of wrong arguments: each names the argument, states whether it is missing, and lists the accepted values or names.
import type * as z from "zod/v4";
import type { Arguments } from "../actions/fingerprint.ts";
import { parseDateTime } from "../contract/instants.ts";
import { jsonPointer } from "../contract/json-pointer.ts";
import { type JsonSchema, schemaOf } from "../contract/json-schema.ts";
import type { FieldError } from "../contract/problem.ts";
import { invalidArguments } from "../core/failure.ts";
import { excerpt, quote } from "../core/untrusted-text.ts";

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

/** "a, b or c" */
const joinWithOr = (values: readonly string[]): string =>
  values.length < 2 ? values.join("") : `${values.slice(0, -1).join(", ")} or ${values.at(-1)}`;

function formatChoices({ enum: values }: JsonSchema): string | undefined {
  return Array.isArray(values) ? `must be ${joinWithOr(values.map(String))}` : undefined;
}

const LOCAL_DATE_TIME = /^\s*\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?\s*$/i;

/** Some fields accept only some date-times: then the issue says which. */
function dateTimeMessage(value: unknown, { message }: z.core.$ZodIssue): string {
  if (typeof value !== "string" || parseDateTime(value) !== undefined) return message;
  return `${LOCAL_DATE_TIME.test(value) ? "needs a time zone" : "must be a date or a date-time"}, for example 2026-11-22T00:00:00Z`;
}

function messageOf(issue: z.core.$ZodIssue, value: unknown, schema: JsonSchema): string {
  const choices = formatChoices(schema);
  if (value === undefined) return choices === undefined ? "is missing" : `is missing: ${choices}`;
  // A schema may explain its choices; zod's own message only repeats them.
  if (issue.code === "invalid_value" && choices !== undefined)
    return issue.message.startsWith("Invalid option") ? choices : `${choices}; ${issue.message}`;
  return schema["format"] === "date-time" ? dateTimeMessage(value, issue) : issue.message;
}

function unknownErrors(issue: z.core.$ZodIssueUnrecognizedKeys, schema: JsonSchema): readonly FieldError[] {
  const valid = Object.keys(schemaOf(schema["properties"]));
  const known = valid.length === 0 ? "there are no arguments here" : `known: ${valid.join(", ")}`;
  return issue.keys.slice(0, MAX_UNKNOWN).map((key) => ({
    pointer: jsonPointer([...issue.path, excerpt(key, MAX_NAME)]),
    code: "UNKNOWN_ARGUMENT",
    message: `unknown argument; ${known}`,
  }));
}

/** Names every violation by its pointer. `listed`: the schema as tools/list shows it. */
export function throwInvalidArguments(name: string, listed: JsonSchema, args: Arguments, error: z.ZodError): never {
  const wrongTypes = new Set<string>();
  const seen = new Set<string>();
  const fieldErrors = error.issues.flatMap((issue): readonly FieldError[] => {
    const schema = schemaAt(listed, issue.path);
    if (issue.code === "unrecognized_keys") return unknownErrors(issue, schema);
    const pointer = jsonPointer(issue.path);
    // For a value of the wrong type, further errors are not useful.
    if (wrongTypes.has(pointer)) return [];
    if (issue.code === "invalid_type") wrongTypes.add(pointer);
    const message = messageOf(issue, valueAt(args, issue.path), schema);
    const isRepeated = seen.has(`${pointer} ${message}`);
    seen.add(`${pointer} ${message}`);
    return isRepeated ? [] : [{ pointer, code: issue.code.toUpperCase(), message }];
  });
  const where = [...new Set(fieldErrors.map(({ pointer }) => pointer.slice(1) || "arguments"))];
  throw invalidArguments(
    `The argument${where.length === 1 ? "" : "s"} ${where.map((each) => quote(each)).join(", ")} of ${name} ${where.length === 1 ? "is" : "are"} not valid.`,
    fieldErrors,
  );
}
