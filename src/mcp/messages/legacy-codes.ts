// Converts the error code that differs in revisions up to 2025-11-25: the SDK sends the code of 2026-07-28 to all clients.
import { type JSONRPCMessage, ProtocolError, ResourceNotFoundError } from "@modelcontextprotocol/server";

const LEGACY_NOT_FOUND = -32002;

export function withLegacyCode(message: JSONRPCMessage): JSONRPCMessage {
  if (!("error" in message)) return message;
  const { code, message: text, data } = message.error;
  const isNotFound = ProtocolError.fromError(code, text, data) instanceof ResourceNotFoundError;
  return isNotFound ? { ...message, error: { ...message.error, code: LEGACY_NOT_FOUND } } : message;
}
