// Reads past the SDK (docs/decisions/017-reads-past-the-sdk.md), on any transport: a plain call of a tool that only reads is
// answered here, once the SDK has answered its like. All else is the SDK's.
import {
  type JSONRPCMessage,
  ProtocolErrorCode,
  type RequestId,
  type RequestMeta,
  type Result,
} from "@modelcontextprotocol/server";
import { BoundedMap } from "../../bounded-map.ts";
import { isJsonObject, type JsonObject } from "../../contract/json.ts";
import { reasonOf } from "../../failure.ts";

/** A call of a tool that only reads, of which the client wants the answer alone. */
export interface ReadCall {
  readonly id: RequestId;
  readonly name: string;
  readonly args: JsonObject;
  /** What the client says of itself: in each request of 2026-07-28, and hardly ever before. */
  readonly envelope: Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal;
}

/** What the server would answer to such a call, without the SDK's part in it; undefined where no such tool is offered. */
export type Read = (call: ReadCall) => Promise<Result> | undefined;

interface PlainCall extends Omit<ReadCall, "signal"> {
  /** Its envelope as JSON; empty where it has none. */
  readonly says: string;
}

const NONE: RequestMeta = {};
const MEMBERS: ReadonlySet<string> = new Set(["name", "arguments", "_meta"]);

/** A call of which the client wants the answer alone. One that wants to hear of progress is the SDK's. */
function plainCall(message: JSONRPCMessage): PlainCall | undefined {
  if (!("method" in message && "id" in message) || message.method !== "tools/call") return undefined;
  const { id, params } = message;
  for (const member in params) if (!MEMBERS.has(member)) return undefined;
  const { name, arguments: args = {}, _meta: envelope = NONE } = params ?? {};
  if (typeof name !== "string" || !isJsonObject(args)) return undefined;
  if (envelope.progressToken !== undefined) return undefined;
  return { id, name, args, envelope, says: envelope === NONE ? "" : JSON.stringify(envelope) };
}

/** More clients than ask one server in turn; what they say of themselves is short. */
const MAX_PROVEN = 64;
const MAX_ENVELOPE = 4_096;

export interface Reads {
  /** Whom to ask from now on: the SDK may make a second server when it learns the client's era. */
  serve(by: Read): void;
  /** Answers this message, later; or returns false: it is the SDK's. */
  take(message: JSONRPCMessage, answer: (message: JSONRPCMessage) => void): boolean;
  /** The SDK sends this. */
  sent(message: JSONRPCMessage): void;
  /** Aborts the call of this id, which stays unanswered. */
  cancel(id: RequestId): void;
  /** Aborts all. */
  close(): void;
}

export function createReads(): Reads {
  const atWork = new Map<RequestId, AbortController>();
  let read: Read | undefined;
  /** The latest plain call that was left to the SDK. Its answer proves what the SDK checks of an envelope and of a connection. */
  let left: PlainCall | undefined;
  const proven = new BoundedMap<string, true>(MAX_PROVEN);

  function begin({ id, name, args, envelope }: PlainCall, answer: (message: JSONRPCMessage) => void): boolean {
    const abort = new AbortController();
    const reading = read?.({ id, name, args, envelope, signal: abort.signal });
    if (!reading) return false;
    atWork.set(id, abort);
    /** Nobody waits for the answer to a cancelled request, and its id may be in use again. */
    const end = (message: JSONRPCMessage): void => {
      if (abort.signal.aborted) return;
      if (atWork.get(id) === abort) atWork.delete(id);
      answer(message);
    };
    reading
      .then((result) => end({ result, jsonrpc: "2.0", id }))
      .catch((error) =>
        end({ jsonrpc: "2.0", id, error: { code: ProtocolErrorCode.InternalError, message: reasonOf(error) } }),
      );
    return true;
  }

  return {
    serve(by) {
      read = by;
      proven.clear();
    },
    take(message, answer) {
      const call = plainCall(message);
      if (call && proven.has(call.says) && begin(call, answer)) return true;
      // An answer under an id that two have borne proves nothing of the first.
      if (call || ("id" in message && message.id === left?.id)) left = call;
      return false;
    },
    sent(message) {
      // A refused one proves nothing, and another request may take its id.
      if (!left || !("result" in message || "error" in message) || message.id !== left.id) return;
      if ("result" in message && left.says.length <= MAX_ENVELOPE) proven.set(left.says, true);
      left = undefined;
    },
    cancel(id) {
      atWork.get(id)?.abort();
      atWork.delete(id);
    },
    close() {
      for (const abort of atWork.values()) abort.abort();
      atWork.clear();
    },
  };
}
