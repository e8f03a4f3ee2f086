// States in a sentence why the params of a request are not valid. The SDK sends the JSON of its validator, partly as an internal error.
import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import * as z from "zod/v4";
import { jsonPointer, parseJson } from "../contract/json.ts";
import { errorMessage } from "../core/failure.ts";

export const invalidParams = (message: string, data?: unknown): ProtocolError =>
  new ProtocolError(ProtocolErrorCode.InvalidParams, message, data);

const Issues = z.array(z.looseObject({ path: z.array(z.union([z.string(), z.number()])), message: z.string() })).min(1);

/** A message may have many errors: the answer must not be as long. */
const MAX_ISSUES = 5;

/** zod's own messages state the type of the value, also of one that is missing. */
const shortened = (message: string): string =>
  message.replace(/^Invalid input(: )?/, "").replace(/^expected \w+, received undefined$/, "missing") || "not valid";

/** Returns the error for the issues of a validator; undefined if these are not issues. */
export function describeInvalidParams(method: string, issues: unknown): ProtocolError | undefined {
  const found = Issues.safeParse(issues).data?.slice(0, MAX_ISSUES);
  const reasons = found?.map(({ path, message }) => `${jsonPointer(path)}: ${shortened(message)}`);
  return reasons && invalidParams(`Invalid ${method} request. ${reasons.join("; ")}.`);
}

/** Returns the error to send for an error of a handler of the SDK. */
export function withReadableIssues(method: string, error: unknown): unknown {
  const [issues] = /\[\s*\{.*\}\s*\]$/s.exec(errorMessage(error)) ?? [];
  return (issues !== undefined && describeInvalidParams(method, parseJson(issues))) || error;
}
