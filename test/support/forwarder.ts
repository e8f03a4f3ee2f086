// A balancer without sticky sessions: consecutive requests of a client reach different servers. With one server, it is a proxy.
import { createServer, type IncomingMessage, request as outgoingRequest, type ServerResponse } from "node:http";
import { listeningUrl } from "./free-port.ts";

const isRefused = (error: NodeJS.ErrnoException): boolean => error.code === "ECONNREFUSED";

/** Is called with each request, its body, and the response, which is not read yet. */
type Observer = (request: IncomingMessage, body: Buffer, response: IncomingMessage) => void;

/**
 * Sends each request to the next of these servers that accepts a connection. A request that was sent is not sent again. When
 * either side closes its connection, the other one is closed.
 */
export async function startForwarder(
  urls: readonly string[],
  observe: Observer = () => undefined,
): Promise<{ readonly url: string; close(): void }> {
  let nextIndex = 0;
  function forward(incoming: IncomingMessage, body: Buffer, outgoing: ServerResponse, tries = urls.length): void {
    const target = new URL(incoming.url ?? "/", urls[nextIndex++ % urls.length]);
    const { method } = incoming;
    const headers = { ...incoming.headers, host: target.host };
    const onwards = outgoingRequest(target, { method, headers, agent: false }, (response) => {
      observe(incoming, body, response);
      outgoing.writeHead(response.statusCode ?? 502, response.headers).flushHeaders();
      response.on("error", () => outgoing.destroy()).pipe(outgoing);
    });
    onwards.on("error", (error) => {
      if (isRefused(error) && tries > 1) forward(incoming, body, outgoing, tries - 1);
      else outgoing.destroy();
    });
    outgoing.on("close", () => onwards.destroy());
    onwards.end(body);
  }
  const server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming
      .on("data", (chunk: Buffer) => chunks.push(chunk))
      .on("end", () => forward(incoming, Buffer.concat(chunks), outgoing));
  });
  return {
    url: `${await listeningUrl(server)}/mcp`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
