// subscriptions/listen (2026-07-28) on stdio. The SDK serves it above the transport and does not say what is listened to: so
// this filter reads it from the messages that pass. It holds an acknowledgment back until no change can be missed.
import { type JSONRPCMessage, type RequestId, SUBSCRIPTION_ID_META_KEY } from "@modelcontextprotocol/server";
import * as z from "zod/v4";
import { Cancelled } from "../messages/cancelled.ts";
import { Id, Listen, type ListenRefusal, listenRefusal, watchNamed, watchRefusal } from "../resources/listen.ts";
import type { Subscriptions } from "../resources/subscriptions.ts";
import type { MessageFilter } from "./transport.ts";

const OfSubscription = z.looseObject({
  params: z.looseObject({
    _meta: z.looseObject({ [SUBSCRIPTION_ID_META_KEY]: Id }),
    notifications: z.looseObject({ resourceSubscriptions: z.array(z.string()) }).optional(),
  }),
});

export function createListens(subscriptions: Subscriptions): MessageFilter {
  /** For each listen request a promise of the URIs that are really watched. */
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
    inbound(message) {
      const method = "method" in message ? message.method : undefined;
      const cancelled = method === "notifications/cancelled" ? Cancelled.safeParse(message).data : undefined;
      if (cancelled) end(cancelled.params.requestId);
      const listen = method === "subscriptions/listen" ? Listen.safeParse(message).data : undefined;
      const refused = listen && begin(listen);
      return listen && refused && { jsonrpc: "2.0", id: listen.id, error: { ...refused } };
    },

    outbound(message) {
      // The SDK refuses a listen request itself, or ends it when all ends.
      if (("error" in message || "result" in message) && message.id !== undefined) end(message.id);
      if (listens.size === 0 || !("method" in message)) return message;
      const sent = OfSubscription.safeParse(message).data?.params;
      const id = sent?._meta[SUBSCRIPTION_ID_META_KEY];
      const watching = id === undefined ? undefined : listens.get(id);
      if (id === undefined || watching === undefined) return message;
      // Updates queue up behind their acknowledgment, which names only what is watched.
      return watching.then((watched): JSONRPCMessage | undefined => {
        if (!listens.has(id)) return undefined;
        if (!sent?.notifications) return message;
        const resourceSubscriptions = sent.notifications.resourceSubscriptions.filter((uri) => watched.includes(uri));
        return {
          ...message,
          params: { ...message.params, notifications: { ...sent.notifications, resourceSubscriptions } },
        };
      });
    },
  };
}
