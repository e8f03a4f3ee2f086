// Reads the stream of a session, for a server that sends its responses there: it answers POSTs with 202, and responses sent
// before the stream is open are lost.
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "undici";

/** Such a server sends no response headers for the stream before its first event, so the client waits this long. */
const STREAM_OPEN_DELAY_MS = 50;

export interface SessionStream {
  /** Resolves to the message that answers the request with this id. */
  waitForResponse(id: number): Promise<string>;
  close(): Promise<void>;
}

export async function openStream(url: URL, headers: Readonly<Record<string, string>>): Promise<SessionStream> {
  const client = new Client(url.origin, { bodyTimeout: 0, headersTimeout: 0 });
  const pendingRequests = new Map<number, (message: string) => void>();
  const receivedMessages = new Map<number, string>();

  function handleMessage(message: string): void {
    const id = Number(/"id":(\d+)[,}]/.exec(message)?.[1]);
    const resolveRequest = pendingRequests.get(id);
    pendingRequests.delete(id);
    if (resolveRequest) resolveRequest(message);
    else receivedMessages.set(id, message);
  }

  async function readEvents(): Promise<void> {
    const accept = { ...headers, accept: "text/event-stream" };
    const { body } = await client.request({ method: "GET", path: url.pathname, headers: accept });
    let partialLine = "";
    for await (const chunk of body.setEncoding("utf8")) {
      const lines = (partialLine + String(chunk)).split("\n");
      partialLine = lines.pop() ?? "";
      for (const line of lines) if (line.startsWith("data: ")) handleMessage(line.slice("data: ".length).trimEnd());
    }
  }
  // Reading ends with an error when the stream is closed.
  readEvents().catch(() => undefined);
  await sleep(STREAM_OPEN_DELAY_MS);

  return {
    waitForResponse(id) {
      const message = receivedMessages.get(id);
      receivedMessages.delete(id);
      return message === undefined
        ? new Promise((resolve) => pendingRequests.set(id, resolve))
        : Promise.resolve(message);
    },
    close: () => client.destroy(),
  };
}
