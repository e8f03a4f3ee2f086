// Validates the parts of a request against the contract's schemas, and throws ProblemError with a JSON pointer for each mismatch.
import * as z from "zod/v4";
import type { Endpoint, KeyGrammar } from "../../contract/endpoints/endpoint.ts";
import { JobETag } from "../../contract/jobs.ts";
import { jsonPointer } from "../../contract/json.ts";
import type { FieldError } from "../../contract/problem.ts";
import { inputKey, processingKey, textKey } from "../../contract/scalars.ts";
import { type HttpRequest, isMediaType, JsonError, parseJson } from "../http/request.ts";
import { createFieldProblem, ProblemError } from "../problems.ts";

const FIELD_ERROR_CODES: Readonly<Partial<Record<z.core.$ZodIssue["code"], string>>> = {
  invalid_type: "WRONG_TYPE",
  too_small: "OUT_OF_BOUNDS",
  too_big: "OUT_OF_BOUNDS",
  invalid_format: "INVALID_FORMAT",
  invalid_value: "NOT_ALLOWED",
};

function toFieldErrors(base: string, issue: z.core.$ZodIssue): readonly FieldError[] {
  const pointer = base + jsonPointer(issue.path);
  if (issue.code === "unrecognized_keys")
    return issue.keys.map((key) => ({
      pointer: pointer + jsonPointer([key]),
      code: "UNKNOWN_FIELD",
      message: "This name is not in the contract.",
    }));
  if (issue.input === undefined) return [{ pointer, code: "REQUIRED", message: "This is required." }];
  return [
    {
      pointer,
      code: FIELD_ERROR_CODES[issue.code] ?? "INVALID_VALUE",
      message: issue.message || "This breaks a rule.",
    },
  ];
}

function parsePart<S extends z.ZodType>(schema: S, value: unknown, base: string): z.output<S> {
  const parsed = z.safeParse(schema, value, { reportInput: true });
  if (parsed.success) return parsed.data;
  throw new ProblemError("INVALID_REQUEST", {
    fieldErrors: parsed.error.issues.flatMap((issue) => toFieldErrors(base, issue)),
  });
}

export const readPath = <S extends z.ZodType>(schema: S, parameters: Readonly<Record<string, string>>): z.output<S> =>
  parsePart(schema, parameters, "/path");

const DIGITS = /^(0|[1-9][0-9]{0,15})$/;

/** Reads the query, with each parameter at most once. Only `limit` is a number. Throws ProblemError. */
export function readQuery<S extends z.ZodType>(schema: S, { target }: HttpRequest): z.output<S> {
  if (target.query === undefined)
    throw createFieldProblem("MALFORMED_REQUEST", "/query", "Percent-encode the query as UTF-8 (RFC 3986, section 2).");
  const query = new Map<string, string | number>();
  for (const [name, value] of target.query) {
    if (query.has(name))
      throw createFieldProblem("INVALID_REQUEST", `/query${jsonPointer([name])}`, "Send each query parameter once.");
    query.set(name, name === "limit" && DIGITS.test(value) ? Number(value) : value);
  }
  return parsePart(schema, Object.fromEntries(query), "/query");
}

function readSingleHeader(request: HttpRequest, name: string): string | undefined {
  const [value, second] = request.header(name.toLowerCase());
  if (second !== undefined) throw createFieldProblem("INVALID_REQUEST", `/header/${name}`, "Send this header once.");
  return value;
}

const KEY_SCHEMAS = { text: textKey, input: inputKey, processing: processingKey } as const satisfies Record<
  KeyGrammar,
  z.ZodType<string>
>;

export const readIdempotencyKey = (grammar: KeyGrammar, request: HttpRequest): string =>
  parsePart(
    z.strictObject({ "Idempotency-Key": KEY_SCHEMAS[grammar] }),
    { "Idempotency-Key": readSingleHeader(request, "Idempotency-Key") },
    "/header",
  )["Idempotency-Key"];

export function readIfMatch(request: HttpRequest): number {
  const value = readSingleHeader(request, "If-Match");
  if (value === undefined)
    throw createFieldProblem(
      "IF_MATCH_REQUIRED",
      "/header/If-Match",
      'Quote the job\'s current resourceVersion, as "7".',
    );
  if (!JobETag.safeParse(value).success)
    throw createFieldProblem(
      "INVALID_REQUEST",
      "/header/If-Match",
      "This must be one strong ETag: the job's resourceVersion in double quotes.",
    );
  return Number(value.slice(1, -1));
}

export function readBody<S extends z.ZodType>(schema: S, request: HttpRequest): z.output<S> {
  const contentType = readSingleHeader(request, "Content-Type") ?? "";
  const encoding = readSingleHeader(request, "Content-Encoding")?.toLowerCase() ?? "identity";
  if (!isMediaType(contentType, "application/json"))
    throw createFieldProblem("UNSUPPORTED_MEDIA_TYPE", "/header/Content-Type", "Send Content-Type: application/json.");
  if (encoding !== "identity")
    throw createFieldProblem("UNSUPPORTED_MEDIA_TYPE", "/header/Content-Encoding", "Send the body without a coding.");
  if (request.body === "too large") throw new ProblemError("BODY_TOO_LARGE");
  try {
    return parsePart(schema, parseJson(request.body), "");
  } catch (error) {
    if (error instanceof JsonError)
      throw createFieldProblem("MALFORMED_JSON", "", `The body is refused: ${error.message}.`);
    throw error;
  }
}

export function checkNoBody({ id }: Endpoint, { body }: HttpRequest): void {
  if (body.length > 0) throw createFieldProblem("INVALID_REQUEST", "", `${id} takes no body.`);
}
