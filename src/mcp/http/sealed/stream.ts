// The stream on which the client of a sealed session only listens. It watches what the rows say that the session subscribes to, and
// whatever moved while there was no stream is told at its beginning.
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import { reasonOf } from "../../../failure.ts";
import type { Asked } from "../exchange.ts";
import { type HttpService, plain, type Served } from "../port.ts";
import type { SessionRows, Subscribed } from "./port.ts";
import type { Session } from "./session.ts";

/** After rows that could not be read, and resources that could not be watched. */
const RETRY_MS = 5_000;
/** A stream that stands this long after an update has brought it: a client that had gone would have been noticed. */
const SURE_MS = 30_000;
const STREAM = "stream";

export interface Stream {
  serve(asked: Asked): Promise<Served>;
  /** The session subscribes to something else. */
  refresh(): void;
  end(): void;
}

export interface StreamParts {
  readonly service: HttpService;
  readonly session: Session;
  readonly rows: SessionRows;
  onEnd(): void;
}

export function createStream({ service, session, rows, onEnd }: StreamParts): Stream {
  const { log } = service;
  const transport = new WebStandardStreamableHTTPServerTransport();
  const subscriptions = service.createSubscriptions();
  const watched = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let isEnded = false;
  let isReading = false;
  let isStale = false;

  function tell(uri: string): void {
    const version = subscriptions.versionOf(uri) ?? null;
    const failed = (error: unknown) => log.debug({ reason: reasonOf(error) }, "an update was not noted");
    transport.send({ jsonrpc: "2.0", method: "notifications/resources/updated", params: { uri } }).catch(failed);
    setTimeout(() => {
      // Otherwise the next stream tells it again.
      if (!isEnded) rows.told(session.id, { uri, version }).catch(failed);
    }, SURE_MS).unref();
  }

  async function watch({ uri, version: known }: Subscribed): Promise<void> {
    watched.add(uri);
    try {
      if (!(await subscriptions.join(uri, STREAM))) return await rows.unsubscribe(session.id, uri);
      const seen = subscriptions.versionOf(uri);
      if (seen !== undefined && seen !== known && watched.has(uri)) tell(uri);
    } catch (error) {
      watched.delete(uri);
      throw error;
    }
  }

  async function read(): Promise<void> {
    const rowsNow = await rows.subscriptions(session.id);
    const uris = new Set(rowsNow.map(({ uri }) => uri));
    for (const uri of watched) if (!uris.has(uri) && watched.delete(uri)) await subscriptions.leave(uri, STREAM);
    if (isEnded) return;
    await Promise.all(rowsNow.filter(({ uri }) => !watched.has(uri)).map(watch));
  }

  async function readOn(): Promise<void> {
    do {
      isStale = false;
      await read().catch((error: unknown) => {
        log.info({ reason: reasonOf(error) }, "not all that a session subscribes to is watched yet");
        clearTimeout(timer);
        if (!isEnded) timer = setTimeout(refresh, RETRY_MS).unref();
      });
    } while (isStale && !isEnded);
    isReading = false;
  }

  function refresh(): void {
    isStale = true;
    if (isReading || isEnded) return;
    isReading = true;
    void readOn();
  }

  function end(): void {
    if (isEnded) return;
    isEnded = true;
    clearTimeout(timer);
    clearTimeout(old);
    subscriptions.close();
    transport.closeStandaloneSSEStream();
    onEnd();
  }

  const old = setTimeout(end, session.until - Date.now()).unref();
  subscriptions.deliverTo(tell);

  return {
    refresh,
    end,
    async serve(asked) {
      const response = await transport.handleRequest(asked.request());
      if (response.status !== 200) {
        end();
        return plain(response);
      }
      refresh();
      return { response, kind: "stream", over: async () => end() };
    },
  };
}
