// Serves requests of protocol revision 2026-07-28: each request has its own server, which ends with the response. A call that asks for
// nothing but a result needs no server (docs/contribute/decisions/001-the-mcp-sdk.md).
import type { IncomingMessage } from "node:http";
import {
  createMcpHandler,
  type InboundClassificationOutcome as Inbound,
  type McpHttpHandler,
  type ServerEvent,
  type ServerEventBus,
} from "@modelcontextprotocol/server";
import { errorMessage } from "../../core/failure.ts";
import type { DirectCall } from "../../mcp/direct-calls.ts";
import {
  checkListenRequest,
  type ListenError,
  ListenRequest,
  type Subscriptions,
  toListenError,
  watchRequestedResources,
} from "../../mcp/resources/subscriptions.ts";
import type { Exchange } from "./exchange.ts";
import type { HttpService } from "./port.ts";
import { errorResponse, MCP_PATH, shuttingDown } from "./responses.ts";

/** The status of the SDK's response if the exchange ended before there was an answer. */
const CLOSED_UNANSWERED = 499;

/** Converts the exchange for the SDK, without the body and without the access token, which no tool may read. */
function toWebRequest({ request, signal }: Exchange): Request {
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(request.headersDistinct))
    if (name !== "authorization") for (const value of values) headers.append(name, value);
  return new Request(`http://localhost${MCP_PATH}`, { method: request.method ?? "", headers, signal });
}

const REVISION = "2026-07-28";

const stoppedResponse = (message: unknown): Response => errorResponse(503, "The server is shutting down.", { message });

/** Creates the event bus of one subscriptions/listen stream, with the updates of its resources. */
function createStreamBus(subscriptions: Subscriptions): ServerEventBus {
  // Changes between the first read and the acknowledgment are sent after the acknowledgment.
  const pendingEvents: ServerEvent[] = [];
  let publish = (event: ServerEvent): void => void pendingEvents.push(event);
  subscriptions.setUpdateHandler((uri) => publish({ kind: "resource_updated", uri }));
  return {
    publish: (event) => publish(event),
    subscribe(listener) {
      publish = listener;
      for (const event of pendingEvents.splice(0)) listener(event);
      return () => undefined;
    },
  };
}

const toErrorResponse = (
  status: number,
  { code, message: reason, data }: ListenError,
  message: ListenRequest,
): Response => errorResponse(status, reason, { code, data, message });

export function createModernHandler(service: HttpService) {
  const createHandler = (bus?: ServerEventBus): McpHttpHandler =>
    createMcpHandler(
      ({ era: revision, requestInfo }) => {
        const isFirst = requestInfo?.headers.get("mcp-method") === "server/discover";
        return service.createServer({ subscriptions: service.createSubscriptions(), isFirst }, revision);
      },
      {
        legacy: "reject",
        bus,
        onerror: (error) => service.log.debug({ reason: errorMessage(error) }, "protocol"),
      },
    );
  const calls = createHandler();

  /** The SDK acknowledges every resource in the request. So it gets only the watched ones, and only when no change can be missed. */
  async function listen(exchange: Exchange, message: ListenRequest): Promise<Response | undefined> {
    const refused = checkListenRequest(message);
    if (refused) return toErrorResponse(400, refused, message);
    const subscriptions = service.createSubscriptions();
    const handler = createHandler(createStreamBus(subscriptions));
    try {
      const parsedBody = await watchRequestedResources(message, subscriptions);
      if (exchange.phase() === "shutting_down") return shuttingDown(message);
      exchange.endStream = handler.close;
      await exchange.respond(await handler.fetch(toWebRequest(exchange), { parsedBody }));
      return undefined;
    } catch (error) {
      return toErrorResponse(200, toListenError(error), message);
    } finally {
      subscriptions.close();
      await handler.close();
    }
  }

  /** Finds a call whose headers name its revision, its method and its tool. The SDK refuses or decodes other headers. */
  function findDirectCall({ headers }: IncomingMessage, inbound: Inbound): DirectCall | undefined {
    if (inbound.kind !== "modern" || inbound.messageKind !== "request") return undefined;
    const { message } = inbound;
    const areHeadersPlain =
      headers["mcp-protocol-version"] === REVISION &&
      headers["mcp-method"] === message.method &&
      headers["mcp-name"] === message.params?.["name"];
    return areHeadersPlain ? service.findDirectCall?.(message) : undefined;
  }

  /** Resolves with undefined after the response was sent, or with a response that the caller sends. `body`: the parsed JSON of a POST. */
  return async (exchange: Exchange, inbound: Inbound, body: unknown): Promise<Response | undefined> => {
    const call = exchange.signal.aborted ? undefined : findDirectCall(exchange.request, inbound);
    if (call) {
      // Both the end of the connection and a shutdown abort the call.
      exchange.finished.then((isSent) => isSent || call.abort());
      exchange.abortCalls = async () => call.abort();
      const answer = await call.run();
      if (!answer) return stoppedResponse(body);
      exchange.send(200, { "content-type": "application/json" }, JSON.stringify(answer));
      return undefined;
    }
    const message = ListenRequest.safeParse(body).data;
    if (message) return await listen(exchange, message);
    // At a shutdown, all calls are aborted.
    exchange.abortCalls = calls.close;
    const response = await calls.fetch(toWebRequest(exchange), { parsedBody: body });
    return response.status === CLOSED_UNANSWERED ? stoppedResponse(body) : response;
  };
}
