// Serves requests of 2026-07-28: each has a server of its own, which ends with its response.
import {
  createMcpHandler,
  type McpHttpHandler,
  type ServerEvent,
  type ServerEventBus,
} from "@modelcontextprotocol/server";
import { errorMessage } from "../../core/failure.ts";
import {
  checkListenRequest,
  type ListenError,
  ListenRequest,
  toListenError,
  watchRequestedResources,
} from "../../mcp/resources/listen.ts";
import type { Subscriptions } from "../../mcp/resources/subscriptions.ts";
import type { Exchange } from "./exchange.ts";
import type { HttpService } from "./port.ts";
import { errorResponse, MCP_PATH, shuttingDown } from "./responses.ts";

/** The status that the SDK gives an exchange that ended before there was an answer. */
const CLOSED_UNANSWERED = 499;

/** A request as the SDK takes it, without its body and without the token that let it in: no tool may see that. */
function toWebRequest({ request, signal }: Exchange): Request {
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(request.headersDistinct))
    if (name !== "authorization") for (const value of values) headers.append(name, value);
  return new Request(`http://localhost${MCP_PATH}`, { method: request.method ?? "", headers, signal });
}

/** Carries to one subscriptions/listen stream the updates of its own resources, and what goes to all streams. */
function createStreamBus(subscriptions: Subscriptions, shared: ServerEventBus | undefined): ServerEventBus {
  // Changes between the first look and the acknowledgment follow it.
  const pendingEvents: ServerEvent[] = [];
  let publish = (event: ServerEvent): void => void pendingEvents.push(event);
  subscriptions.setUpdateHandler((uri) => publish({ kind: "resource_updated", uri }));
  return {
    publish: (event) => publish(event),
    subscribe(listener) {
      publish = listener;
      for (const event of pendingEvents.splice(0)) listener(event);
      return shared?.subscribe(listener) ?? (() => undefined);
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
        ...(bus && { bus }),
        onerror: (error) => service.log.debug({ reason: errorMessage(error) }, "protocol"),
      },
    );
  const calls = createHandler();
  const streams = new Set<McpHttpHandler>();

  /** The SDK acknowledges what it is given: so it gets only what is watched, once no change can be missed. */
  async function listen(exchange: Exchange, message: ListenRequest): Promise<Response | undefined> {
    const refused = checkListenRequest(message);
    if (refused) return toErrorResponse(400, refused, message);
    const subscriptions = service.createSubscriptions();
    const handler = createHandler(createStreamBus(subscriptions, service.bus));
    try {
      const parsedBody = await watchRequestedResources(message, subscriptions);
      if (exchange.phase() === "ending") return shuttingDown(message);
      exchange.isStream = true;
      streams.add(handler);
      await exchange.respond(await handler.fetch(toWebRequest(exchange), { parsedBody }));
      return undefined;
    } catch (error) {
      return toErrorResponse(200, toListenError(error), message);
    } finally {
      subscriptions.close();
      streams.delete(handler);
      await handler.close();
    }
  }

  return {
    /** Resolves when it has sent the response, or with one to send. `body`: the parsed JSON of a POST. */
    async serve(exchange: Exchange, body: unknown): Promise<Response | undefined> {
      const message = ListenRequest.safeParse(body).data;
      if (message) return await listen(exchange, message);
      const response = await calls.fetch(toWebRequest(exchange), { parsedBody: body });
      return response.status === CLOSED_UNANSWERED
        ? errorResponse(503, "The server is ending.", { message: body })
        : response;
    },

    /** Ends subscriptions/listen streams; their clients learn of it. */
    async endStreams(): Promise<void> {
      await Promise.all([...streams].map((handler) => handler.close()));
    },

    /** Aborts calls in flight. */
    async close(): Promise<void> {
      await Promise.all([calls, ...streams].map((handler) => handler.close()));
    },
  };
}
