// Logs one tool call: its failed attempts and its answer. Common fields connect these lines, and the requestId connects them to the
// API's own log. Arguments and results are not logged.
import type { CallToolResult, RequestId } from "@modelcontextprotocol/server";
import type { FailedAttempt } from "../../api-client/attempts.ts";
import { isJsonObject } from "../../contract/json.ts";
import type { FailureFacts } from "../../core/failure.ts";
import { excerpt } from "../../core/untrusted-text.ts";
import type { Log } from "../runtime.ts";

/** The source of a call, as far as the client identifies itself. */
export interface RequestSource {
  /** The id of the MCP request. */
  readonly id: RequestId;
  /** The id of the session; undefined if the connection has none. */
  readonly session?: string | undefined;
  /** The name that the client declares. */
  readonly client?: string | undefined;
}

const MAX_CLIENT_NAME = 100;

/** Number of calls in this process. It identifies a call; request ids do not, because each client counts from the start. */
let callCount = 0;

const memberOf = (part: unknown, name: string): unknown => (isJsonObject(part) ? part[name] : undefined);

/** Returns the fields that connect an answer to the journal and to the API's log. */
const correlationFieldsOf = ({ structuredContent, _meta }: CallToolResult) => ({
  key: memberOf(memberOf(structuredContent, "action"), "idempotencyKey"),
  attempts: memberOf(memberOf(structuredContent, "action"), "attempts"),
  requestId: memberOf(_meta, "mic-mcp/requestId"),
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
    logResult: (answer: CallToolResult): void =>
      log.info({ ...commonFields, ms: now() - startedAt, ...correlationFieldsOf(answer) }, "tool call"),
    logFailure({ kind, status, idempotencyKey: key, requestId }: FailureFacts, error: unknown): void {
      log.info({ ...commonFields, ms: now() - startedAt, kind, status, key, requestId }, "tool call failed");
      if (kind === "internal") log.error({ ...commonFields, err: error }, "internal failure");
    },
  };
}
