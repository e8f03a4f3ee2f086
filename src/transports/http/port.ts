// What is served over HTTP, apart from how. The product is one implementation (serve.ts); tests and the conformance fixture give
// startHttpServer another one, and get the same serving of sessions, single requests, subscriptions and limits.
import type { JSONRPCMessage, McpServerFactory, ProtocolEra, ServerEventBus } from "@modelcontextprotocol/server";
import { isJsonObject } from "../../contract/json.ts";
import type { Redact } from "../../mcp/messages/redact.ts";
import type { Subscriptions } from "../../mcp/resources/subscriptions.ts";
import type { Log } from "../../mcp/runtime.ts";
import type { Connection } from "../../mcp/server.ts";
import type { Telemetry } from "../../telemetry/port.ts";
import type { Exchange } from "./exchange.ts";

/** A request or a notification. */
export interface RequestOrNotification {
  readonly method: string;
  readonly params?: unknown;
}

/** The requests and notifications in a body. `body`: the parsed JSON of a POST. */
export const messagesIn = (body: unknown): readonly RequestOrNotification[] =>
  [body].flat().flatMap((message) => {
    const { method, params } = isJsonObject(message) ? message : {};
    return typeof method === "string" ? [{ method, params }] : [];
  });

/** Made for one server alone, and gone with it. */
export type HttpConnection = Pick<Connection, "subscriptions" | "isFirst" | "protocolVersion">;

export interface HttpService {
  /** A new server each time: "legacy" for a session or a POST of the older revisions, "modern" for a request of 2026-07-28. */
  createServer(connection: HttpConnection, protocolEra: ProtocolEra): ReturnType<McpServerFactory>;
  /** One for a session, and one for a subscriptions/listen stream, which is closed with it. */
  createSubscriptions(): Subscriptions;
  /** What /readyz reports of what calls depend on. Rejects, with the reason, if they cannot be served. */
  readonly readiness?: () => Promise<object>;
  /** Carries further events to all subscriptions/listen streams, such as lists that change. */
  readonly bus?: ServerEventBus;
  /** Takes secrets out of every message that leaves. */
  readonly redact: Redact;
  readonly log: Log;
  /** Absent: not configured. */
  readonly telemetry?: Telemetry | undefined;
}

/** Serves clients of revisions before 2026-07-28. */
export interface LegacyHandler {
  /** Resolves when it has sent the response, or with one to send. `messages`: those of a POST. */
  serve(exchange: Exchange, messages: readonly JSONRPCMessage[]): Promise<Response | undefined>;
  /** Ends the streams on which clients only listen. */
  endStreams(): void;
  /** Aborts calls in flight. */
  close(): Promise<void>;
}
