// Reads past the SDK (docs/decisions/017-reads-past-the-sdk.md): a plain call of a tool that only reads is answered here, once the SDK
// has answered its like. All else is the SDK's. test/mcp/stdio/reads.test.ts holds that nobody sees a difference.
import { type JSONRPCMessage, ProtocolErrorCode, type RequestId } from "@modelcontextprotocol/server";
import { isJsonObject, type JsonObject } from "../../contract/json.ts";
import { reasonOf } from "../../failure.ts";
import { Cancelled } from "../messages/cancelled.ts";
import type { Read } from "../server.ts";
import type { MessageFilter } from "./transport.ts";

interface PlainCall {
  readonly id: RequestId;
  readonly name: string;
  readonly args: JsonObject;
  /** What the client says of itself: in each request of 2026-07-28, and hardly ever before. */
  readonly envelope: string;
}

const MEMBERS: ReadonlySet<string> = new Set(["name", "arguments", "_meta"]);

/** A call of which the client wants the answer alone. One that wants to hear of progress is the SDK's. */
function plainCall(message: JSONRPCMessage): PlainCall | undefined {
  if (!("method" in message && "id" in message) || message.method !== "tools/call") return undefined;
  const { id, params } = message;
  for (const member in params) if (!MEMBERS.has(member)) return undefined;
  const { name, arguments: args = {}, _meta: envelope } = params ?? {};
  if (typeof name !== "string" || !isJsonObject(args)) return undefined;
  if (envelope?.progressToken !== undefined) return undefined;
  return { id, name, args, envelope: envelope === undefined ? "" : JSON.stringify(envelope) };
}

export interface Reads extends MessageFilter {
  /** Whom to ask from now on: the SDK may make a second server when it learns the client's era. */
  serve(by: Read): void;
}

/** `next`: sees what is left to the SDK. */
export function createReads(next: MessageFilter): Reads {
  const atWork = new Map<RequestId, AbortController>();
  let read: Read | undefined;
  /** The latest plain call that was left to the SDK. Its answer proves what the SDK checks of an envelope and of a connection. */
  let left: PlainCall | undefined;
  let provenEnvelope: string | undefined;

  function begin(call: PlainCall, answer: (message: JSONRPCMessage) => void): boolean {
    const { id, name, args } = call;
    const abort = new AbortController();
    const reading = read?.({ id, name, args, signal: abort.signal });
    if (!reading) return false;
    atWork.set(id, abort);
    /** Nobody waits for the answer to a cancelled request, and its id may be in use again. */
    const end = (message: JSONRPCMessage): void => {
      if (abort.signal.aborted) return;
      atWork.delete(id);
      answer(message);
    };
    reading
      .then((result) => end({ result, jsonrpc: "2.0", id }))
      .catch((error) =>
        end({ jsonrpc: "2.0", id, error: { code: ProtocolErrorCode.InternalError, message: reasonOf(error) } }),
      );
    return true;
  }

  function cancel(id: RequestId): void {
    atWork.get(id)?.abort();
    atWork.delete(id);
  }

  return {
    serve(by) {
      read = by;
      provenEnvelope = undefined;
    },
    inbound(message, pass, answer) {
      const call = plainCall(message);
      if (call && call.envelope === provenEnvelope && begin(call, answer)) return;
      if (call) left = call;
      else if ("method" in message && message.method === "notifications/cancelled") {
        const cancelled = Cancelled.safeParse(message).data;
        if (cancelled) cancel(cancelled.params.requestId);
      }
      next.inbound(message, pass, answer);
    },
    outbound(message, pass) {
      // A refused one proves nothing, and another request may take its id.
      if (left && ("result" in message || "error" in message) && message.id === left.id) {
        if ("result" in message) provenEnvelope = left.envelope;
        left = undefined;
      }
      return next.outbound(message, pass);
    },
    closed() {
      for (const abort of atWork.values()) abort.abort();
      atWork.clear();
    },
  };
}
