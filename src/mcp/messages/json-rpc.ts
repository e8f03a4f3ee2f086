// Reads and changes JSON-RPC messages in the ways that all transports need.
import {
  type JSONRPCMessage,
  ProtocolError,
  type RequestId,
  ResourceNotFoundError,
} from "@modelcontextprotocol/server";
import * as z from "zod/v4";

const CancelledNotification = z.object({ params: z.object({ requestId: z.union([z.string(), z.number()]) }) });

/** Returns the id of the canceled request; undefined if the message is not a cancellation. */
export function canceledId(message: JSONRPCMessage): RequestId | undefined {
  const isCancellation = "method" in message && message.method === "notifications/cancelled";
  return isCancellation ? CancelledNotification.safeParse(message).data?.params.requestId : undefined;
}

const LEGACY_NOT_FOUND = -32002;

/** Converts the error code that differs in revisions up to 2025-11-25: the SDK sends the code of 2026-07-28 to all clients. */
export function withLegacyCode(message: JSONRPCMessage): JSONRPCMessage {
  if (!("error" in message)) return message;
  const { code, message: text, data } = message.error;
  const isNotFound = ProtocolError.fromError(code, text, data) instanceof ResourceNotFoundError;
  return isNotFound ? { ...message, error: { ...message.error, code: LEGACY_NOT_FOUND } } : message;
}
