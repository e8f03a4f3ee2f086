// Serves reads of 2026-07-28, whoever asks, by one server: each request says itself who asks and what he can do, and the
// answer to a read carries nothing that would have to be remembered. The SDK's own way makes a server for each.
import type { IncomingHttpHeaders } from "node:http";
import type { JSONRPCMessage, JSONRPCRequest, RequestId, Transport } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { reasonOf } from "../../failure.ts";
import { createDeliveries } from "../tools/deliveries.ts";
import type { Ask } from "./answer.ts";
import type { HttpService } from "./port.ts";

const REVISION = "2026-07-28";

/** Whether all headers are there, in their plain form: what is not so is for the SDK to judge. */
export const hasItsHeaders = ({ method, params }: JSONRPCRequest, headers: IncomingHttpHeaders): boolean =>
  headers["mcp-protocol-version"] === REVISION &&
  headers["mcp-method"] === method &&
  headers["mcp-name"] === params?.["name"];

/** A connection within this process, on which the requests of all clients come under ids of its own. */
class Wire implements Transport {
  onclose: Transport["onclose"];
  onerror: Transport["onerror"];
  onmessage: Transport["onmessage"];
  readonly #waiting = new Map<RequestId, (answer: JSONRPCMessage | undefined) => void>();
  #lastId = 0;
  #isClosed = false;

  async start(): Promise<void> {}

  readonly ask: Ask = (request, told) => {
    const id = ++this.#lastId;
    const cancel = () => {
      if (!this.#waiting.delete(id)) return;
      this.onmessage?.({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } });
    };
    if (this.#isClosed) {
      told(undefined);
      return cancel;
    }
    this.#waiting.set(id, (answer) => told(answer && { ...answer, id: request.id }));
    this.onmessage?.({ ...request, id });
    return cancel;
  };

  async send(message: JSONRPCMessage): Promise<void> {
    if ("method" in message || message.id === undefined) return;
    const told = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    told?.(message);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const told of waiting) told(undefined);
    this.onclose?.();
  }
}

export interface ModernReads {
  readonly ask: Ask;
  /** Aborts reads under way. */
  close(): Promise<void>;
}

export function createModernReads(service: HttpService): ModernReads {
  const wire = new Wire();
  const subscriptions = service.createSubscriptions();
  const connection = { deliveries: createDeliveries(), subscriptions };
  // The SDK's entry for a connection that lasts; its transport may be any.
  const { close } = serveStdio(({ era }) => service.createServer(connection, era), {
    transport: wire,
    legacy: "reject",
    onerror: (error) => service.log.debug({ reason: reasonOf(error) }, "protocol"),
  });
  return {
    ask: wire.ask,
    async close() {
      subscriptions.close();
      await close();
    },
  };
}
