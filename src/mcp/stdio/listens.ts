// subscriptions/listen (2026-07-28) is served by the SDK above the transport, and tells the server nothing: so what is
// listened to is seen here, as it passes. An acknowledgement waits until no move can be missed any more, and names only
// what is really watched.
import type { Readable, Writable } from "node:stream";
import { type JSONRPCMessage, ProtocolErrorCode, SUBSCRIPTION_ID_META_KEY } from "@modelcontextprotocol/server";
import * as z from "zod/v4";
import { Cancelled } from "../messages/cancelled.ts";
import type { Exit } from "../messages/redact.ts";
import { Id, Listen } from "../resources/listen.ts";
import { refusalText, type Subscriptions } from "../resources/subscriptions.ts";
import { refusedListen } from "../tasks/serve.ts";
import type { Deliveries } from "../tools/deliveries.ts";
import { StdioTransport } from "./transport.ts";

const OfSubscription = z.looseObject({
  method: z.string(),
  params: z.looseObject({ _meta: z.looseObject({ [SUBSCRIPTION_ID_META_KEY]: Id }) }),
});
const Acknowledged = z.looseObject({
  params: z.looseObject({ notifications: z.looseObject({ resourceSubscriptions: z.array(z.string()) }) }),
});

export class ListeningTransport extends StdioTransport {
  readonly #subscriptions: Subscriptions;
  /** What each listen request really gets, once that is known. */
  readonly #listens = new Map<string | number, Promise<ReadonlySet<string>>>();

  constructor(stdin: Readable, stdout: Writable, exit: Exit, deliveries: Deliveries, subscriptions: Subscriptions) {
    super(stdin, stdout, exit, deliveries);
    this.#subscriptions = subscriptions;
  }

  override async start(): Promise<void> {
    const { onmessage } = this;
    this.onmessage = (message) => {
      if (this.#takesIn(message)) onmessage?.(message);
    };
    await super.start();
  }

  /** False when the message is answered here. */
  #takesIn(message: JSONRPCMessage): boolean {
    const method = "method" in message ? message.method : undefined;
    // Nearly all messages are neither: a schema that does not fit costs more than one that does.
    if (method !== "notifications/cancelled" && method !== "subscriptions/listen") return true;
    const cancelled = Cancelled.safeParse(message).data;
    if (cancelled) this.#end(cancelled.params.requestId);
    const listen = Listen.safeParse(message).data;
    const refused = listen && refusedListen(listen);
    if (listen && refused) {
      const { code, message: reason, data } = refused;
      this.#refuse(listen.id, { code, message: reason, data });
      return false;
    }
    const wanted = listen?.params.notifications.resourceSubscriptions;
    if (!listen || !wanted || this.#listens.has(listen.id)) return true;
    const { id } = listen;
    const uris = [...new Set(wanted)].filter(this.#subscriptions.canWatch);
    try {
      const joining = uris.map((uri) => this.#subscriptions.join(uri, id).then((there) => (there ? [uri] : [])));
      this.#listens.set(
        id,
        Promise.all(joining).then((found) => new Set(found.flat())),
      );
      return true;
    } catch (error) {
      this.#subscriptions.leaveAll(id);
      this.#refuse(id, { code: ProtocolErrorCode.InternalError, message: refusalText(error) });
      return false;
    }
  }

  #refuse(id: string | number, error: { code: number; message: string; data?: unknown }): void {
    super.send({ jsonrpc: "2.0", id, error }).catch((failure: Error) => this.onerror?.(failure));
  }

  #end(id: string | number): void {
    if (!this.#listens.delete(id)) return;
    this.#subscriptions.leaveAll(id);
  }

  override async send(message: JSONRPCMessage): Promise<void> {
    // A listen request that the SDK itself refuses, or ends when all ends.
    if (("error" in message || "result" in message) && message.id !== undefined) this.#end(message.id);
    const sent = "method" in message ? OfSubscription.safeParse(message).data : undefined;
    const id = sent?.params._meta[SUBSCRIPTION_ID_META_KEY];
    const there = id === undefined ? undefined : this.#listens.get(id);
    if (id === undefined || there === undefined) return await super.send(message);
    // Not awaited: whoever sends would hold up all other messages. Updates queue up behind their acknowledgement.
    there
      .then(async (watched) => {
        if (this.#listens.has(id)) await super.send(narrowed(message, watched));
      })
      .catch((failure: Error) => this.onerror?.(failure));
  }
}

/** An acknowledgement names what is watched; other messages stay as they are. */
function narrowed(message: JSONRPCMessage, watched: ReadonlySet<string>): JSONRPCMessage {
  const acknowledged = Acknowledged.safeParse(message).data;
  if (!acknowledged || !("method" in message)) return message;
  const { notifications } = acknowledged.params;
  const resourceSubscriptions = notifications.resourceSubscriptions.filter((uri) => watched.has(uri));
  return { ...message, params: { ...message.params, notifications: { ...notifications, resourceSubscriptions } } };
}
