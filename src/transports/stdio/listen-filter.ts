// subscriptions/listen (2026-07-28) on stdio. The SDK serves it above the transport and acknowledges at once what it is asked for: so
// this filter hands a request on when no change can be missed, and with only what is watched.
import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/server";
import { canceledId } from "../../mcp/messages/cancelled.ts";
import {
  checkListenRequest,
  type ListenError,
  ListenRequest,
  toListenError,
  watchRequestedResources,
} from "../../mcp/resources/listen.ts";
import type { Subscriptions } from "../../mcp/resources/subscriptions.ts";
import type { MessageFilter } from "./transport.ts";

export function createListenFilter(subscriptions: Subscriptions): MessageFilter {
  const listening = new Set<RequestId>();

  function endListen(id: RequestId): void {
    if (listening.delete(id)) subscriptions.unsubscribeAll(id);
  }

  /** Returns why the request is refused; undefined if `pass` gets it. */
  function beginListen(listen: ListenRequest, pass: (message: JSONRPCMessage) => void): ListenError | undefined {
    const refused = checkListenRequest(listen);
    if (refused) return refused;
    const { id, params } = listen;
    // The SDK refuses a second request with the id of one that is open.
    if (params.notifications.resourceSubscriptions === undefined || listening.has(id)) pass(listen);
    else {
      listening.add(id);
      try {
        watchRequestedResources(listen, subscriptions).then((watched) => listening.has(id) && pass(watched));
      } catch (error) {
        endListen(id);
        return toListenError(error);
      }
    }
    return undefined;
  }

  return {
    inbound(message, pass) {
      const canceled = canceledId(message);
      if (canceled !== undefined) endListen(canceled);
      const isListen = "method" in message && message.method === "subscriptions/listen";
      const listen = isListen ? ListenRequest.safeParse(message).data : undefined;
      if (!listen) {
        pass(message);
        return undefined;
      }
      const refused = beginListen(listen, pass);
      return refused && { jsonrpc: "2.0", id: listen.id, error: { ...refused } };
    },

    outbound(message) {
      // The SDK refuses a listen request itself, or ends it when all ends.
      if (("error" in message || "result" in message) && message.id !== undefined) endListen(message.id);
      return message;
    },
  };
}
