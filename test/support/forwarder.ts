// A balancer without sticky sessions: consecutive requests of a client reach different servers.
import { createServer, type IncomingMessage, request as outgoingRequest, type ServerResponse } from "node:http";
import { closeServer, listeningUrl } from "./free-port.ts";

const isRefused = (error: NodeJS.ErrnoException): boolean => error.code === "ECONNREFUSED";

/**
 * Sends each request to the next of these servers that accepts a connection. A request that was sent is not sent again. When
 * either side closes its connection, the other one is closed.
 */
export async function startForwarder(urls: readonly string[]) {
  let nextIndex = 0;
  function forward(incoming: IncomingMessage, body: Buffer, outgoing: ServerResponse, tries = urls.length): void {
    const target = new URL(urls[nextIndex++ % urls.length] ?? "");
    const { method, headers } = incoming;
    const onwards = outgoingRequest(target, { method, headers, agent: false }, (response) => {
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
    close: () => closeServer(server),
  };
}
