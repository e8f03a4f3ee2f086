// What is served over HTTP, apart from how. The product is one implementation (serve.ts); tests and the conformance fixture give
// startHttpServer another one, and get the same serving of sessions, single requests, subscriptions and limits.
import type { McpServerFactory, ProtocolEra, ServerEventBus } from "@modelcontextprotocol/server";
import { isJsonObject } from "../../contract/json.ts";
import type { Telemetry } from "../../telemetry/port.ts";
import type { Redact } from "../messages/redact.ts";
import type { Subscriptions } from "../resources/subscriptions.ts";
import type { Log } from "../runtime.ts";

/** Made for one server alone, and gone with it. */
export interface HttpConnection {
  /** Absent if the client has no stream for updates: it is then offered no subscriptions. */
  readonly subscriptions?: Subscriptions;
  /** This server may be asked for its instructions, by `initialize` or `server/discover`. */
  readonly isFirst?: boolean;
  /** The revision of a client that did not initialize this server. */
  readonly protocolVersion?: string;
}

/** What a message asks for, or tells. */
export interface Asking {
  readonly method: string;
  readonly params?: unknown;
}

/** Those in a body that ask or tell; answers and what is no message are left out. `body`: the parsed JSON of a POST. */
export const messagesIn = (body: unknown): readonly Asking[] =>
  [body].flat().flatMap((message) => {
    const { method, params } = isJsonObject(message) ? message : {};
    return typeof method === "string" ? [{ method, params }] : [];
  });

export interface HttpService {
  /** A new server each time: "legacy" for a session or a POST of the older revisions, "modern" for a request of 2026-07-28. */
  createServer(connection: HttpConnection, era: ProtocolEra): ReturnType<McpServerFactory>;
  /** One for a session, and one for a subscriptions/listen stream, which is closed with it. */
  createSubscriptions(): Subscriptions;
  /** What /readyz says of what calls depend on. Rejects, saying why, where they cannot be served. */
  readonly readiness?: () => Promise<object>;
  /** Carries further events to all subscriptions/listen streams, such as lists that change. */
  readonly bus?: ServerEventBus;
  /** Takes secrets out of every message that leaves. */
  readonly redact: Redact;
  readonly log: Log;
  /** Absent: nobody asked for it. */
  readonly telemetry?: Telemetry | undefined;
}

/** A response in one piece. */
export interface Whole {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** A file as it comes from elsewhere: it leaves as it is, and what breaks off is never taken for whole. */
export interface Poured {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** In bytes; undefined where nobody has said. */
  readonly length: number | undefined;
  /** Throws where it breaks off. */
  readonly pieces: AsyncIterable<Uint8Array>;
}

/** A response on its way. */
export interface Served {
  readonly response: Response | Whole | Poured;
  /** "call": it ends by itself. "stream": it goes on until one side ends it. */
  readonly kind: "call" | "stream";
  /** Takes the secrets of whoever is served out of it; absent: the door's own does. */
  readonly redact?: Redact;
  /** Must be called at its end: `isWhole` when all of it was handed to the client's connection. */
  over(isWhole: boolean): Promise<void>;
}

export const plain = (response: Served["response"]): Served => ({
  response,
  kind: "call",
  over: async () => undefined,
});
