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

interface Entry {
  readonly watch: Watch;
  readonly subscribers: Set<Subscriber>;
}

export interface Subscriptions {
  /** Sends all later updates to `deliver`. */
  setUpdateHandler(deliver: (uri: string) => void): void;
  canWatch(uri: string): boolean;
  /**
   * Starts to watch a resource. Resolves when no change can be missed: false if there is no such resource. Throws Failure synchronously
   * if too many resources are watched.
   */
  subscribe(uri: string, subscriber: Subscriber): Promise<boolean>;
  unsubscribe(uri: string, subscriber: Subscriber): void;
  /** Ends all subscriptions of this subscriber. */
  unsubscribeAll(subscriber: Subscriber): void;
  close(): void;
}

export function createSubscriptions(runtime: Runtime): Subscriptions {
  const { resourceWatcher, ports } = runtime;
  const entries = new Map<string, Entry>();
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
    setUpdateHandler(deliver) {
      send = deliver;
    },

    canWatch: (uri) => findResource(offeredResources(runtime), uri)?.resource.readVersion !== undefined,

    subscribe(uri, subscriber) {
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

    unsubscribeAll(subscriber) {
      for (const uri of [...entries.keys()]) unsubscribe(uri, subscriber);
    },

    close() {
      for (const { watch } of entries.values()) watch.stop();
      entries.clear();
    },
  };
}

/** Returns the message of an error that prevented watching, with its next step. */
export const watchErrorText = (thrown: unknown): string =>
  thrown instanceof Failure ? `${thrown.message} ${thrown.facts.next ?? ""}`.trim() : escapeText(errorMessage(thrown));

async function subscribeOrThrow(subscribe: () => Promise<boolean>): Promise<boolean> {
  try {
    return await subscribe();
  } catch (error) {
    throw new ProtocolError(ProtocolErrorCode.InternalError, watchErrorText(error));
  }
}

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
    if (!(await subscribeOrThrow(() => subscriptions.subscribe(uri, CONNECTION))))
      throw resourceNotFound(uri, "The service has nothing at this id.");
    return {};
  });
  server.setRequestHandler("resources/unsubscribe", async ({ params: { uri } }) => {
    subscriptions.unsubscribe(uri, CONNECTION);
    return {};
  });
}
