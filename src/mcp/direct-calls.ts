// Answers tool calls without the SDK's handlers, whose checks of a request and its result take longer than a read itself
// (docs/use/speed.md). It is between a transport and the SDK's server, so it is the same for all transports.
import { type JSONRPCMessage, type RequestId, type Result, Server, type Transport } from "@modelcontextprotocol/server";
import { isJsonObject } from "../contract/json.ts";
import { errorMessage } from "../core/failure.ts";
import { canceledId } from "./messages.ts";

/** Answers a call of a tool, and reports every failure as a result. Returns undefined if the SDK has to handle the call. */
export type DirectHandler = (
  tool: string,
  args: unknown,
  request: { readonly id: RequestId; readonly signal: AbortSignal; readonly session: string | undefined },
) => Promise<Result> | undefined;

/** Returns the tool and the arguments of a request without `_meta`; undefined for every other message. */
function readPlainCall(message: JSONRPCMessage) {
  if (!("method" in message) || message.method !== "tools/call" || !("id" in message)) return undefined;
  const { name, arguments: args = {}, ...others } = message.params ?? {};
  const isPlain = typeof name === "string" && isJsonObject(args) && Object.keys(others).length === 0;
  return isPlain ? { id: message.id, name, args } : undefined;
}

export class DirectCallServer extends Server {
  /** Set for revisions before 2026-07-28, whose requests need no `_meta`. */
  handleDirectly: DirectHandler | undefined;
  readonly #inFlight = new Map<RequestId, AbortController>();

  override async connect(transport: Transport): Promise<void> {
    await super.connect(transport);
    const passToSdk = transport.onmessage;
    transport.onmessage = (message, extra) => {
      if (this.begin(message, transport)) return;
      const canceled = canceledId(message);
      if (canceled !== undefined) this.#inFlight.get(canceled)?.abort();
      passToSdk?.(message, extra);
    };
  }

  /** Returns true if this message is a call that is answered here. A transport may call it before the SDK gets the message. */
  begin(message: JSONRPCMessage, transport: Transport): boolean {
    const call = readPlainCall(message);
    if (!call) return false;
    const { id } = call;
    const controller = new AbortController();
    const { signal } = controller;
    const answer = this.handleDirectly?.(call.name, call.args, { id, signal, session: transport.sessionId });
    if (!answer) return false;
    this.#inFlight.set(id, controller);
    answer
      // A canceled request has no answer.
      .then(async (result) => {
        if (!signal.aborted) await transport.send({ result, jsonrpc: "2.0", id });
      })
      .catch((error: unknown) => this.onerror?.(new Error(`Failed to send response: ${errorMessage(error)}`)))
      .finally(() => this.#inFlight.delete(id));
    return true;
  }

  override _onclose(): void {
    super._onclose();
    for (const controller of this.#inFlight.values()) controller.abort();
  }
}
