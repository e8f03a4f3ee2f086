// Serves MCP on stdin and stdout, for protocol revisions 2024-11-05 to 2025-11-25 and 2026-07-28.
import type { Readable, Writable } from "node:stream";
import type { JSONRPCMessage, McpRequestContext, ProtocolEra, RequestId } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { errorMessage } from "../../core/failure.ts";
import type { DirectCallServer } from "../../mcp/direct-calls.ts";
import { canceledId, createRedact, withLegacyCode } from "../../mcp/messages.ts";
import {
  checkListenRequest,
  createSubscriptions,
  type ListenError,
  ListenRequest,
  type Subscriptions,
  toListenError,
  watchRequestedResources,
} from "../../mcp/resources/subscriptions.ts";
import type { Runtime } from "../../mcp/runtime.ts";
import { createServer } from "../../mcp/server.ts";
import { createConfirmation } from "../../mcp/tools/confirmation.ts";
import { type MessageFilter, StdioTransport } from "./transport.ts";

/** Passes on listen requests with only the watched resources, because the SDK acknowledges all of them; converts error codes. */
function createFilter(
  subscriptions: Subscriptions,
  isLegacy: () => boolean,
  beginCall: (message: JSONRPCMessage) => boolean,
): MessageFilter {
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
      if (beginCall(message)) return undefined;
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
      return isLegacy() ? withLegacyCode(message) : message;
    },
  };
}

export interface Stdio {
  readonly stdin: Readable;
  readonly stdout: Writable;
}

/** Serves until stdin ends and the requests in flight have their answers. Returns a function that ends the connection earlier. */
export function serveOnStdio(runtime: Runtime, { stdin, stdout }: Stdio): () => Promise<void> {
  const subscriptions = createSubscriptions(runtime);
  /** Undefined until the client has sent its first message. */
  let protocolEra: ProtocolEra | undefined;
  let server: DirectCallServer | undefined;
  /**
   * Begins a call without the SDK's parts between this transport and its server, because they parse each message again, in both
   * directions. Returns false until `initialize` was served: the client's capabilities decide whether the user is asked.
   */
  const beginCall = (message: JSONRPCMessage): boolean =>
    server?.getClientCapabilities() !== undefined && server.begin(message, transport);
  const filter = createFilter(subscriptions, () => protocolEra === "legacy", beginCall);
  const confirmation = createConfirmation(runtime);
  const connection = { subscriptions, confirmation, network: "pipe" as const, isFirst: true };
  const endTelemetrySession = runtime.telemetry?.startSession("pipe");
  const transport = new StdioTransport(stdin, stdout, createRedact(runtime.redactor), filter);
  const createConnectionServer = async (context: McpRequestContext) => {
    protocolEra = context.era;
    server = await createServer(runtime, connection, protocolEra);
    return server;
  };
  const handle = serveStdio(createConnectionServer, {
    transport,
    onerror: (error) => runtime.log.warn({ reason: errorMessage(error) }, "protocol"),
  });
  return async () => {
    await transport.finished;
    subscriptions.close();
    await handle.close();
    endTelemetrySession?.();
  };
}
