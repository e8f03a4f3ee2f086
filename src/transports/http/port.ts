// Defines the interface between the HTTP transport and the MCP servers behind it. Tests and the conformance fixture implement it, too.
import type { JSONRPCMessage, McpServerFactory, ProtocolEra } from "@modelcontextprotocol/server";
import { isJsonObject } from "../../contract/json.ts";
import type { FindDirectCall } from "../../mcp/direct-calls.ts";
import type { Redact } from "../../mcp/messages.ts";
import type { Subscriptions } from "../../mcp/resources/subscriptions.ts";
import type { Log } from "../../mcp/runtime.ts";
import type { Connection } from "../../mcp/server.ts";
import type { Telemetry } from "../../telemetry/port.ts";
import type { Exchange } from "./exchange.ts";

/** A JSON-RPC request or notification, without its id. */
export interface RequestOrNotification {
  readonly method: string;
  readonly params?: unknown;
}

/** Returns the requests and notifications in a body, without the responses. `body`: the parsed JSON of a POST. */
export const messagesIn = (body: unknown): readonly (RequestOrNotification & { readonly isRequest: boolean })[] =>
  [body].flat().flatMap((message) => {
    if (!isJsonObject(message)) return [];
    const { method, params } = message;
    return typeof method === "string" ? [{ method, params, isRequest: "id" in message }] : [];
  });

/** The part of a connection that is created for one server and ends with it. */
export type HttpConnection = Pick<Connection, "subscriptions" | "isFirst" | "protocolVersion">;

export interface HttpService {
  /** Creates a new server: "legacy" for a session or a POST of the older revisions, "modern" for a request of 2026-07-28. */
  createServer(connection: HttpConnection, protocolEra: ProtocolEra): ReturnType<McpServerFactory>;
  /** Finds the calls that need no server. Absent: every message needs one. */
  readonly findDirectCall?: FindDirectCall;
  /** Creates the subscriptions of one session or one subscriptions/listen stream, which closes them when it ends. */
  createSubscriptions(): Subscriptions;
  /** Returns the state of the dependencies of calls, for /readyz. Rejects with the reason if calls cannot be served. */
  readonly readiness?: () => Promise<object>;
  readonly redact: Redact;
  readonly log: Log;
  /** Absent if telemetry is off. */
  readonly telemetry?: Telemetry;
}

/** Resolves with undefined after the response was sent, or with a response that the caller sends. `messages`: those of a POST. */
export type LegacyHandler = (exchange: Exchange, messages: readonly JSONRPCMessage[]) => Promise<Response | undefined>;
