// subscriptions/listen (2026-07-28) on stdio. The SDK serves it above the transport and does not say what is listened to: so
// this filter reads it from the messages that pass. It holds an acknowledgement back until no change can be missed.
import { type JSONRPCMessage, type RequestId, SUBSCRIPTION_ID_META_KEY } from "@modelcontextprotocol/server";
import * as z from "zod/v4";
import { Cancelled } from "../messages/cancelled.ts";
import { Id, Listen, type ListenRefusal, listenRefusal, watchNamed, watchRefusal } from "../resources/listen.ts";
import type { Subscriptions } from "../resources/subscriptions.ts";
import type { MessageFilter } from "./transport.ts";

const OfSubscription = z.looseObject({
  method: z.string(),
  params: z.looseObject({ _meta: z.looseObject({ [SUBSCRIPTION_ID_META_KEY]: Id }) }),
});
const Acknowledged = z.looseObject({
  params: z.looseObject({ notifications: z.looseObject({ resourceSubscriptions: z.array(z.string()) }) }),
});

export function createListens(subscriptions: Subscriptions): MessageFilter {
  /** What each listen request really gets, once that is known. */
  const listens = new Map<RequestId, Promise<readonly string[]>>();

  function end(id: RequestId): void {
    if (listens.delete(id)) subscriptions.leaveAll(id);
  }

  /** Why it is refused; undefined when it is not. */
  function begin(listen: Listen): ListenRefusal | undefined {
    const refused = listenRefusal(listen);
    const isNamed = listen.params.notifications.resourceSubscriptions !== undefined;
    // The SDK refuses a second request with the id of one that is open.
    if (refused || !isNamed || listens.has(listen.id)) return refused;
    try {
      listens.set(listen.id, watchNamed(listen, subscriptions));
      return undefined;
    } catch (error) {
      subscriptions.leaveAll(listen.id);
      return watchRefusal(error);
    }
  }

  return {
    inbound(message, pass, answer) {
      const method = "method" in message ? message.method : undefined;
      // Nearly all messages are neither: a schema that does not fit costs more than one that does.
      if (method === "notifications/cancelled") {
        const cancelled = Cancelled.safeParse(message).data;
        if (cancelled) end(cancelled.params.requestId);
      }
      const listen = method === "subscriptions/listen" ? Listen.safeParse(message).data : undefined;
      const refused = listen && begin(listen);
      if (listen && refused) answer({ jsonrpc: "2.0", id: listen.id, error: { ...refused } });
      else pass(message);
    },

    outbound(message, pass) {
      // The SDK refuses a listen request itself, or ends it when all ends.
      if (("error" in message || "result" in message) && message.id !== undefined) end(message.id);
      const sent = "method" in message ? OfSubscription.safeParse(message).data : undefined;
      const id = sent?.params._meta[SUBSCRIPTION_ID_META_KEY];
      const watching = id === undefined ? undefined : listens.get(id);
      if (id === undefined || watching === undefined) {
        pass(message);
        return undefined;
      }
      // Updates queue up behind their acknowledgement.
      return watching.then((watched) => {
        if (listens.has(id)) pass(narrowed(message, watched));
      });
    },
  };
}

/** Lets an acknowledgement name only what is watched; leaves other messages as they are. */
function narrowed(message: JSONRPCMessage, watched: readonly string[]): JSONRPCMessage {
  const acknowledged = Acknowledged.safeParse(message).data;
  if (!acknowledged || !("method" in message)) return message;
  const { notifications } = acknowledged.params;
  const resourceSubscriptions = notifications.resourceSubscriptions.filter((uri) => watched.includes(uri));
  return { ...message, params: { ...message.params, notifications: { ...notifications, resourceSubscriptions } } };
}
