// Serves requests of 2026-07-28: each has a server of its own, which ends with its response.
import {
  createMcpHandler,
  type McpHttpHandler,
  type ServerEvent,
  type ServerEventBus,
} from "@modelcontextprotocol/server";
import { reasonOf } from "../../failure.ts";
import { Listen, type ListenRefusal, listenRefusal, watchNamed, watchRefusal } from "../resources/listen.ts";
import type { Subscriptions } from "../resources/subscriptions.ts";
import { type HttpService, messagesIn, plain, type Served } from "./port.ts";
import { refusal } from "./refusal.ts";

/** The status that the SDK gives an exchange that ended before there was an answer. */
const CLOSED_UNANSWERED = 499;

/** Carries to one subscriptions/listen stream the updates of its own resources, and what goes to all streams. */
function streamBus(subscriptions: Subscriptions, shared: ServerEventBus | undefined): ServerEventBus {
  // Changes between the first look and the acknowledgement follow it.
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

const refuse = (status: number, { code, message: reason, data }: ListenRefusal, message: Listen): Response =>
  refusal(status, reason, { code, data, message });

export type Modern = ReturnType<typeof createModern>;

export function createModern(service: HttpService) {
  const calls = new Set<McpHttpHandler>();
  const streams = new Set<McpHttpHandler>();

  async function serveBy(
    request: Request,
    body: unknown,
    { among, bus }: { among: Set<McpHttpHandler>; bus?: ServerEventBus },
  ): Promise<Served> {
    const subscriptions = service.createSubscriptions();
    const isFirst = messagesIn(body).some(({ method }) => method === "server/discover");
    const handler = createMcpHandler(({ era }) => service.createServer({ subscriptions, isFirst }, era), {
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
      async over() {
        among.delete(handler);
        await handler.close();
      },
    };
  }

  /** The SDK acknowledges what it is given: so it gets only what is watched, once no change can be missed. */
  async function listen(request: Request, message: Listen): Promise<Served> {
    const refused = listenRefusal(message);
    if (refused) return plain(refuse(400, refused, message));
    const { notifications } = message.params;
    const subscriptions = service.createSubscriptions();
    try {
      const resourceSubscriptions = await watchNamed(message, subscriptions);
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
      return plain(refuse(200, watchRefusal(error), message));
    }
  }

  return {
    async serve(request: Request, body: unknown): Promise<Served> {
      const message = Listen.safeParse(body).data;
      return message ? await listen(request, message) : await serveBy(request, body, { among: calls });
    },

    /** Ends subscriptions/listen streams; their clients learn of it. */
    async endStreams(): Promise<void> {
      await Promise.all([...streams].map((handler) => handler.close()));
    },

    /** Aborts calls under way. */
    async close(): Promise<void> {
      await Promise.all([...calls, ...streams].map((handler) => handler.close()));
    },
  };
}
