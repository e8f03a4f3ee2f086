// subscriptions/listen (2026-07-28) on stdio. The SDK serves it above the transport and acknowledges at once what it is asked for: so
// this filter hands a request on when no change can be missed, and with only what is watched.
import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/server";
import { Cancelled } from "../messages/cancelled.ts";
import { Listen, type ListenRefusal, listenRefusal, watchNamed, watchRefusal } from "../resources/listen.ts";
import type { Subscriptions } from "../resources/subscriptions.ts";
import type { MessageFilter } from "./transport.ts";

export function createListens(subscriptions: Subscriptions): MessageFilter {
  const listening = new Set<RequestId>();

  function end(id: RequestId): void {
    if (listening.delete(id)) subscriptions.leaveAll(id);
  }

  /** Returns why the request is refused; undefined if `pass` gets it. */
  function begin(listen: Listen, pass: (message: JSONRPCMessage) => void): ListenRefusal | undefined {
    const refused = listenRefusal(listen);
    if (refused) return refused;
    const { id, params } = listen;
    // The SDK refuses a second request with the id of one that is open.
    if (params.notifications.resourceSubscriptions === undefined || listening.has(id)) pass(listen);
    else {
      listening.add(id);
      try {
        watchNamed(listen, subscriptions).then((watched) => listening.has(id) && pass(watched));
      } catch (error) {
        end(id);
        return watchRefusal(error);
      }
    }
    return undefined;
  }

  return {
    inbound(message, pass) {
      const method = "method" in message ? message.method : undefined;
      const cancelled = method === "notifications/cancelled" ? Cancelled.safeParse(message).data : undefined;
      if (cancelled) end(cancelled.params.requestId);
      const listen = method === "subscriptions/listen" ? Listen.safeParse(message).data : undefined;
      if (!listen) {
        pass(message);
        return undefined;
      }
      const refused = begin(listen, pass);
      return refused && { jsonrpc: "2.0", id: listen.id, error: { ...refused } };
    },

    outbound(message) {
      // The SDK refuses a listen request itself, or ends it when all ends.
      if (("error" in message || "result" in message) && message.id !== undefined) end(message.id);
      return message;
    },
  };
}
