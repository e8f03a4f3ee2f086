// Requests of 2026-07-28: each has a server of its own, and is over with its response.
import {
  createMcpHandler,
  isJSONRPCRequest,
  type McpHttpHandler,
  ProtocolErrorCode,
  type ServerEvent,
  type ServerEventBus,
} from "@modelcontextprotocol/server";
import { reasonOf } from "../../failure.ts";
import { Listen } from "../resources/listen.ts";
import { refusalText, type Subscriptions } from "../resources/subscriptions.ts";
import { refusedListen } from "../tasks/serve.ts";
import { createDeliveries } from "../tools/deliveries.ts";
import { type HttpService, plain, type Served } from "./port.ts";
import { refusal } from "./refusal.ts";

/** The SDK's word for an exchange that ended before there was an answer. */
const CLOSED_UNANSWERED = 499;

/** What one subscriptions/listen stream hears of: its own resources, and what all hear of. */
function streamBus(subscriptions: Subscriptions, shared: ServerEventBus | undefined): ServerEventBus {
  // Moves between the first look and the acknowledgement are told behind it.
  const early: ServerEvent[] = [];
  let publish = (event: ServerEvent): void => void early.push(event);
  subscriptions.deliverTo((uri) => publish({ kind: "resource_updated", uri }));
  return {
    publish: (event) => publish(event),
    subscribe(listener) {
      publish = listener;
      for (const event of early.splice(0)) listener(event);
      return shared?.subscribe(listener) ?? (() => undefined);
    },
  };
}

export type Modern = ReturnType<typeof createModern>;

export function createModern(service: HttpService) {
  const calls = new Set<McpHttpHandler>();
  const streams = new Set<McpHttpHandler>();

  async function serveBy(
    request: Request,
    body: unknown,
    { among, bus }: { among: Set<McpHttpHandler>; bus?: ServerEventBus },
  ): Promise<Served> {
    const deliveries = createDeliveries();
    const subscriptions = service.createSubscriptions();
    const handler = createMcpHandler(({ era }) => service.createServer({ deliveries, subscriptions }, era), {
      legacy: "reject",
      ...(bus && { bus }),
      onerror: (error) => service.log.debug({ reason: reasonOf(error) }, "protocol"),
    });
    among.add(handler);
    const response = await handler.fetch(request, { parsedBody: body });
    const isUnanswered = response.status === CLOSED_UNANSWERED;
    return {
      response: isUnanswered ? refusal(503, "The server is ending.", { message: body }) : response,
      kind: among === streams ? "stream" : "call",
      async over(isWhole) {
        among.delete(handler);
        if (isWhole && isJSONRPCRequest(body)) deliveries.answered(body.id)();
        await handler.close();
        await deliveries.settled();
      },
      async unread() {
        if (isJSONRPCRequest(body)) deliveries.cancelled(body.id);
        await deliveries.settled();
      },
    };
  }

  /** The SDK's stream acknowledges what it is given: so it is given what is really watched, once no move can be missed. */
  async function listen(request: Request, message: Listen): Promise<Served> {
    const refused = refusedListen(message);
    if (refused) return plain(refusal(400, refused.message, { code: refused.code, data: refused.data, message }));
    const { notifications } = message.params;
    const subscriptions = service.createSubscriptions();
    try {
      const uris = [...new Set(notifications.resourceSubscriptions ?? [])].filter(subscriptions.canWatch);
      const joined = uris.map(async (uri) => ((await subscriptions.join(uri, message.id)) ? [uri] : []));
      const resourceSubscriptions = (await Promise.all(joined)).flat();
      const narrowed = {
        ...message,
        params: { ...message.params, notifications: { ...notifications, resourceSubscriptions } },
      };
      const bus = streamBus(subscriptions, service.bus);
      const served = await serveBy(request, narrowed, { among: streams, bus });
      return {
        ...served,
        async over(isWhole) {
          subscriptions.close();
          await served.over(isWhole);
        },
      };
    } catch (error) {
      subscriptions.close();
      const reason = refusalText(error);
      return plain(refusal(200, reason, { code: ProtocolErrorCode.InternalError, message }));
    }
  }

  return {
    async serve(request: Request, body: unknown): Promise<Served> {
      const message = Listen.safeParse(body).data;
      return message ? await listen(request, message) : await serveBy(request, body, { among: calls });
    },

    /** Ends subscriptions/listen streams, telling their clients. */
    async endStreams(): Promise<void> {
      await Promise.all([...streams].map((handler) => handler.close()));
    },

    /** Calls under way are aborted. */
    async close(): Promise<void> {
      await Promise.all([...calls, ...streams].map((handler) => handler.close()));
    },
  };
}
