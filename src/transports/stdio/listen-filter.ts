// Filters subscriptions/listen requests (2026-07-28) on stdio. The SDK serves them above the transport and immediately acknowledges every
// requested resource. So this filter passes a request on when no change can be missed, with only the watched resources.
import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/server";
import { canceledId } from "../../mcp/messages/json-rpc.ts";
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

  /** Returns the error that refuses the request; undefined if `pass` gets the request. */
  function beginListen(listen: ListenRequest, pass: (message: JSONRPCMessage) => void): ListenError | undefined {
    const refused = checkListenRequest(listen);
    if (refused) return refused;
    const { id, params } = listen;
    // The SDK refuses a second request with the id of a request in flight.
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
      // The SDK answers a listen request when it refuses it or when the connection ends.
      if (("error" in message || "result" in message) && message.id !== undefined) endListen(message.id);
      return message;
    },
  };
}
