// Reads the notification with which a client cancels a request.
import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/server";
import * as z from "zod/v4";

const CancelledNotification = z.object({ params: z.object({ requestId: z.union([z.string(), z.number()]) }) });

/** Returns the id of the canceled request; undefined if the message is not a cancellation. */
export function canceledId(message: JSONRPCMessage): RequestId | undefined {
  const isCancellation = "method" in message && message.method === "notifications/cancelled";
  return isCancellation ? CancelledNotification.safeParse(message).data?.params.requestId : undefined;
}
