// A recording HTTP proxy between a client and the server: forwards everything, and records the messages of each exchange.
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { listeningUrl } from "../support/free-port.ts";
import { type Exchange, Message, pairExchanges } from "./wire.ts";

export interface HttpTap {
  /** The URL for clients. */
  readonly url: string;
  exchanges(): readonly Exchange[];
  close(): Promise<void>;
}

/** The JSON-RPC messages of a body: one as JSON, or one for each event of a stream. Any other body has none. */
function parseMessages(body: string, type = ""): readonly Message[] {
  const texts = type.startsWith("text/event-stream")
    ? [...body.matchAll(/^data: ?(.+)$/gm)].flatMap(([, data = ""]) => data)
    : type.startsWith("application/json")
      ? [body]
      : [];
  return texts.map((text) => Message.parse(JSON.parse(text)));
}

export async function startHttpTap(upstream: string): Promise<HttpTap> {
  const recorded: {
    readonly requestMessages: readonly Message[];
    readonly responseMessages: () => readonly Message[];
  }[] = [];

  function forward(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const url = new URL(incoming.url ?? "/", upstream);
    const requestChunks: Buffer[] = [];
    const responseChunks: Buffer[] = [];
    const headers = { ...incoming.headers, host: url.host };
    const upstreamRequest = request(url, { method: incoming.method, headers }, (answer) => {
      recorded.push({
        requestMessages: parseMessages(Buffer.concat(requestChunks).toString(), incoming.headers["content-type"]),
        // A stream may not have ended yet.
        responseMessages: () => parseMessages(Buffer.concat(responseChunks).toString(), answer.headers["content-type"]),
      });
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.on("data", (chunk: Buffer) => responseChunks.push(chunk));
      answer.on("error", () => outgoing.destroy());
      answer.pipe(outgoing);
    });
    upstreamRequest.on("error", () => outgoing.destroy());
    // Passes a client's disconnect on to the server.
    outgoing.on("close", () => upstreamRequest.destroy());
    incoming.on("data", (chunk: Buffer) => requestChunks.push(chunk));
    incoming.pipe(upstreamRequest);
  }

  const server = createServer(forward);
  const url = await listeningUrl(server);
  return {
    url: `${url}${new URL(upstream).pathname}`,
    exchanges: () =>
      recorded.flatMap(({ requestMessages, responseMessages }) =>
        pairExchanges([
          ...requestMessages.map((message) => ({ from: "client", ...message })),
          ...responseMessages().map((message) => ({ from: "server", ...message })),
        ]),
      ),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
