// What the log says of one tool call: the attempts that failed and the answer, tied together by the same facts, and to the
// service's own log by its requestId. Neither arguments nor results are logged.
import type { RequestId } from "@modelcontextprotocol/server";
import type { FailedAttempt } from "../../api-client/attempts.ts";
import { isJsonObject } from "../../contract/json.ts";
import type { FailureFacts } from "../../core/failure.ts";
import { excerpt } from "../../core/untrusted-text.ts";
import type { Log } from "../runtime.ts";

/** Who calls, as far as it is known. */
export interface RequestSource {
  /** The id of the MCP request. */
  readonly id: RequestId;
  /** Of a connection that has one. */
  readonly session?: string | undefined;
  /** What the client calls itself. */
  readonly client?: string | undefined;
}

const MAX_CLIENT_NAME = 100;

/** Calls of this process, counted: clients begin to count their requests anew. */
let callCount = 0;

const memberOf = (part: unknown, name: string): unknown => (isJsonObject(part) ? part[name] : undefined);

/** What of an answer ties it to the journal and to the service. */
const correlationFieldsOf = (structured: unknown) => ({
  key: memberOf(memberOf(structured, "action"), "idempotencyKey"),
  attempts: memberOf(memberOf(structured, "action"), "attempts"),
  requestId: memberOf(memberOf(structured, "meta"), "requestId"),
});

export function createCallLog(log: Log, tool: string, { id, session, client }: RequestSource, now: () => number) {
  const startedAt = now();
  callCount += 1;
  const commonFields = {
    call: callCount,
    request: id,
    session,
    client: client && excerpt(client, MAX_CLIENT_NAME),
    tool,
  };
  return {
    logFailedAttempt: (attempt: FailedAttempt): void => log.info({ ...commonFields, ...attempt }, "attempt failed"),
    /** `structured`: the answer's structuredContent. */
    logResult: (structured: unknown): void =>
      log.info({ ...commonFields, ms: now() - startedAt, ...correlationFieldsOf(structured) }, "tool call"),
    logFailure({ kind, status, idempotencyKey: key, requestId }: FailureFacts, error: unknown): void {
      log.info({ ...commonFields, ms: now() - startedAt, kind, status, key, requestId }, "tool call failed");
      if (kind === "internal") log.error({ ...commonFields, err: error }, "internal failure");
    },
  };
}
