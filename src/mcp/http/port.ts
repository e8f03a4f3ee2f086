// The seam of this room: what is served, apart from how. The product is one implementation (../http.ts); whoever else gives
// serveHttp another one gets the very same serving of sessions, single requests, subscriptions and limits.
import type { McpServerFactory, ServerEventBus } from "@modelcontextprotocol/server";
import type { Exit } from "../messages/redact.ts";
import type { Era } from "../resources/resources.ts";
import type { Subscriptions } from "../resources/subscriptions.ts";
import type { Log } from "../runtime.ts";
import type { Deliveries } from "../tools/deliveries.ts";

/** What a server may lean on: made for it alone, and gone with it. */
export interface HttpConnection {
  readonly deliveries: Deliveries;
  readonly subscriptions: Subscriptions;
}

export interface HttpService {
  /** A new server each time: one for a session of the older revisions ("legacy"), one for a request of 2026-07-28 ("modern"). */
  createServer(connection: HttpConnection, era: Era): ReturnType<McpServerFactory>;
  /** One for a session, and one for a subscriptions/listen stream, which is closed with it. */
  createSubscriptions(): Subscriptions;
  /** What else subscriptions/listen streams are to hear of, such as lists that change. */
  readonly bus?: ServerEventBus;
  /** Every message leaves through it. */
  readonly exit: Exit;
  readonly log: Log;
}

/** A response on its way. */
export interface Served {
  readonly response: Response;
  /** "call": it ends by itself. "stream": it goes on until one side ends it. */
  readonly kind: "call" | "stream";
  /** Has to be called once it is over: `isWhole` when all of it was handed to the client's connection. */
  over(isWhole: boolean): Promise<void>;
  /** The client's connection was torn down behind the whole of it, with something in it unread. */
  unread?(): Promise<void>;
}

export const plain = (response: Response): Served => ({ response, kind: "call", over: async () => undefined });
