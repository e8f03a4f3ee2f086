// Tracks which resources the subscribers of one connection watch, by the rules of both protocol generations, for both transports.
import {
  type ProtocolEra,
  ProtocolError,
  ProtocolErrorCode,
  type RequestId,
  type Server,
} from "@modelcontextprotocol/server";
import * as z from "zod/v4";
import { errorMessage, Failure } from "../../core/failure.ts";
import { AGENT, join, render } from "../../core/text.ts";
import { escapeText, formatToken } from "../../core/untrusted-text.ts";
import type { Watch } from "../../toolkit/resources/resource-watcher.ts";
import { expand } from "../../toolkit/uri.ts";
import { invalidParams } from "../invalid-params.ts";
import type { Runtime } from "../runtime.ts";
import { checkTaskSubscription } from "../tasks/serve.ts";
import { findResource, requireResource, resourceNotFound } from "./resources.ts";

/** The id of a listen request. A connection of an older revision is one subscriber. */
export type Subscriber = RequestId;
const CONNECTION = "connection";

export type Subscriptions = ReturnType<typeof createSubscriptions>;

export function createSubscriptions(runtime: Runtime) {
  const { resourceWatcher, ports } = runtime;
  const entries = new Map<string, { readonly watch: Watch; readonly subscribers: Set<Subscriber> }>();
  let send: (uri: string) => void = () => undefined;

  function watch(uri: string): Watch | undefined {
    const found = findResource(uri, runtime);
    const readVersion = found?.resource.watchVersion?.(found.variables, ports);
    if (!found || !readVersion) return undefined;
    // A client may write the URI of one resource in several ways.
    const name = expand(found.resource.uri, found.variables);
    return resourceWatcher.watch(name, readVersion, () => send(uri));
  }

  function unsubscribe(uri: string, subscriber: Subscriber): void {
    const entry = entries.get(uri);
    if (!entry?.subscribers.delete(subscriber) || entry.subscribers.size > 0) return;
    entry.watch.stop();
    entries.delete(uri);
  }

  return {
    /** Sends all later updates to `deliver`. */
    setUpdateHandler(deliver: (uri: string) => void): void {
      send = deliver;
    },

    canWatch: (uri: string): boolean => findResource(uri, runtime)?.resource.watchVersion !== undefined,

    /** Resolves when no change can be missed: false if there is no such resource. Throws Failure synchronously if too many are watched. */
    subscribe(uri: string, subscriber: Subscriber): Promise<boolean> {
      let entry = entries.get(uri);
      if (!entry) {
        const newWatch = watch(uri);
        if (!newWatch) return Promise.resolve(false);
        entry = { watch: newWatch, subscribers: new Set() };
        entries.set(uri, entry);
      }
      entry.subscribers.add(subscriber);
      return entry.watch.exists.then((there) => {
        if (!there) unsubscribe(uri, subscriber);
        return there;
      });
    },

    unsubscribe,

    unsubscribeAll(subscriber: Subscriber): void {
      for (const uri of [...entries.keys()]) unsubscribe(uri, subscriber);
    },

    close(): void {
      for (const { watch } of entries.values()) watch.stop();
      entries.clear();
    },
  };
}

export const watchErrorText = (thrown: unknown): string =>
  thrown instanceof Failure
    ? render(join([thrown.facts.message, thrown.facts.next]), AGENT)
    : escapeText(errorMessage(thrown));

/** Serves the requests of the older revisions. In 2026-07-28, the transports serve subscriptions/listen by the rules below. */
export function serveSubscriptions(
  server: Server,
  runtime: Runtime,
  subscriptions: Subscriptions,
  protocolEra: ProtocolEra,
): void {
  subscriptions.setUpdateHandler((uri) => {
    server.sendResourceUpdated({ uri }).catch(() => undefined);
  });
  if (protocolEra === "modern") return;
  server.setRequestHandler("resources/subscribe", async ({ params: { uri } }) => {
    const { resource } = requireResource(uri, runtime);
    if (!resource.watchVersion) {
      const updatableUris = runtime.resources
        .filter(({ watchVersion }) => watchVersion !== undefined)
        .map((each) => each.uri);
      throw invalidParams(`${formatToken(uri)} sends no updates; these do: ${updatableUris.join(", ")}.`);
    }
    const subscribe = async () => await subscriptions.subscribe(uri, CONNECTION);
    const exists = await subscribe().catch((error: unknown) => {
      throw new ProtocolError(ProtocolErrorCode.InternalError, watchErrorText(error));
    });
    if (!exists) throw resourceNotFound(uri, "The service has nothing at this id.");
    return {};
  });
  server.setRequestHandler("resources/unsubscribe", async ({ params: { uri } }) => {
    subscriptions.unsubscribe(uri, CONNECTION);
    return {};
  });
}

// The SDK serves the stream of subscriptions/listen above the transport and acknowledges every requested resource. So the SDK gets
// only the watched ones.

export const ListenRequest = z.looseObject({
  jsonrpc: z.literal("2.0"),
  method: z.literal("subscriptions/listen"),
  id: z.union([z.string(), z.number()]),
  params: z.looseObject({
    notifications: z.looseObject({ resourceSubscriptions: z.array(z.string()).optional() }),
  }),
});
export type ListenRequest = z.infer<typeof ListenRequest>;

export interface ListenError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** Returns the error that refuses a listen request before any resource is watched; undefined if it is not refused. */
export function checkListenRequest({ params }: ListenRequest): ListenError | undefined {
  const refused = checkTaskSubscription(params);
  return refused && { code: refused.code, message: refused.message, data: refused.data };
}

export const toListenError = (thrown: unknown): ListenError => ({
  code: ProtocolErrorCode.InternalError,
  message: watchErrorText(thrown),
});

/** Resolves when no change can be missed, with only the watched resources. Throws Failure synchronously if too many are watched. */
export function watchRequestedResources(message: ListenRequest, subscriptions: Subscriptions): Promise<ListenRequest> {
  const { id, params } = message;
  const { notifications } = params;
  const named = [...new Set(notifications.resourceSubscriptions)].filter(subscriptions.canWatch);
  const subscribing = named.map((uri) => subscriptions.subscribe(uri, id).then((exists) => (exists ? [uri] : [])));
  return Promise.all(subscribing).then((watched) => ({
    ...message,
    params: { ...params, notifications: { ...notifications, resourceSubscriptions: watched.flat() } },
  }));
}
