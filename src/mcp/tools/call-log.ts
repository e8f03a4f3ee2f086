// What the log says of one tool call: the attempts that failed and the answer, tied together by the same facts, and to the
// service's own log by its requestId. Neither arguments nor results are logged.
import type { RequestId } from "@modelcontextprotocol/server";
import type { FailedAttempt } from "../../api-client/attempts.ts";
import { isJsonObject } from "../../contract/json.ts";
import type { FailureFacts } from "../../core/failure.ts";
import { excerpt } from "../../core/untrusted-text.ts";
import type { Log } from "../runtime.ts";

/** Who calls, as far as it is known. */
export interface Caller {
  /** The id of the MCP request. */
  readonly id: RequestId;
  /** Of a connection that has one. */
  readonly session?: string | undefined;
  /** What the client calls itself. */
  readonly client?: string | undefined;
}

const MAX_CLIENT = 100;

/** Calls of this process, counted: clients begin to count their requests anew. */
let calls = 0;

const textIn = (part: unknown, name: string): unknown => (isJsonObject(part) ? part[name] : undefined);

/** What of an answer ties it to the journal and to the service. */
const tiesOf = (structured: unknown) => ({
  key: textIn(textIn(structured, "action"), "idempotencyKey"),
  attempts: textIn(textIn(structured, "action"), "attempts"),
  requestId: textIn(textIn(structured, "meta"), "requestId"),
});

export function createCallLog(log: Log, tool: string, { id, session, client }: Caller, now: () => number) {
  const startedAt = now();
  calls += 1;
  const commonFields = { call: calls, request: id, session, client: client && excerpt(client, MAX_CLIENT), tool };
  return {
    attemptFailed: (attempt: FailedAttempt): void => log.info({ ...commonFields, ...attempt }, "attempt failed"),
    /** `structured`: the answer's structuredContent. */
    answered: (structured: unknown): void =>
      log.info({ ...commonFields, ms: now() - startedAt, ...tiesOf(structured) }, "tool call"),
    failed({ kind, status, idempotencyKey: key, requestId }: FailureFacts, error: unknown): void {
      log.info({ ...commonFields, ms: now() - startedAt, kind, status, key, requestId }, "tool call failed");
      if (kind === "internal") log.error({ ...commonFields, err: error }, "internal failure");
    },
  };
}
