// Tracks which resources the subscribers of one connection watch, and serves resources/subscribe and resources/unsubscribe.
import {
  type ProtocolEra,
  ProtocolError,
  ProtocolErrorCode,
  type RequestId,
  type Server,
} from "@modelcontextprotocol/server";
import { errorMessage, Failure } from "../../core/failure.ts";
import { escapeText, formatToken } from "../../core/untrusted-text.ts";
import type { Watch } from "../../toolkit/resources/resource-watcher.ts";
import { expand } from "../../toolkit/uri.ts";
import type { Runtime } from "../runtime.ts";
import { findResource, noSuchUri, offeredResources, resourceNotFound } from "./resources.ts";

/** The id of a listen request. A connection of an older revision is one subscriber. */
export type Subscriber = RequestId;
const CONNECTION = "connection";

export type Subscriptions = ReturnType<typeof createSubscriptions>;

export function createSubscriptions(runtime: Runtime) {
  const { resourceWatcher, ports } = runtime;
  const entries = new Map<string, { readonly watch: Watch; readonly subscribers: Set<Subscriber> }>();
  let send: (uri: string) => void = () => undefined;

  function watch(uri: string): Watch | undefined {
    const found = findResource(offeredResources(runtime), uri);
    const readVersion = found?.resource.readVersion;
    if (!found || !readVersion) return undefined;
    const { resource, variables } = found;
    // A client may write the URI of one resource in several ways.
    const name = expand(resource.uri, variables);
    return resourceWatcher.watch(
      name,
      (context) => readVersion(variables, ports.service, context),
      () => send(uri),
    );
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

    canWatch: (uri: string): boolean =>
      findResource(offeredResources(runtime), uri)?.resource.readVersion !== undefined,

    /**
     * Starts to watch a resource. Resolves when no change can be missed: false if there is no such resource. Throws Failure synchronously
     * if too many resources are watched.
     */
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

    /** Ends all subscriptions of this subscriber. */
    unsubscribeAll(subscriber: Subscriber): void {
      for (const uri of [...entries.keys()]) unsubscribe(uri, subscriber);
    },

    close(): void {
      for (const { watch } of entries.values()) watch.stop();
      entries.clear();
    },
  };
}

/** Returns the message of an error that prevented watching, with its next step. */
export const watchErrorText = (thrown: unknown): string =>
  thrown instanceof Failure ? `${thrown.message} ${thrown.facts.next ?? ""}`.trim() : escapeText(errorMessage(thrown));

/** Serves the requests of the older revisions. In 2026-07-28, the transports serve subscriptions/listen by the rules of listen.ts. */
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
    const offered = offeredResources(runtime);
    const found = findResource(offered, uri);
    if (!found) throw noSuchUri(uri, offered);
    if (!found.resource.readVersion) {
      const updatableUris = offered
        .filter(({ readVersion }) => readVersion !== undefined)
        .map((resource) => resource.uri);
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `${formatToken(uri)} sends no updates; these do: ${updatableUris.join(", ")}.`,
      );
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
