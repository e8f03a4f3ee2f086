// A balancer without sticky sessions: consecutive requests of a client reach different servers. With one server, it is a proxy.
import { createServer, type IncomingMessage, request } from "node:http";
import { serveForTest } from "./http-server.ts";

type Observer = (request: IncomingMessage, body: readonly Buffer[], response: IncomingMessage) => void;

/** Starts a balancer that sends requests to these servers in turn. When a connection of a request ends, so does its other one. */
export function startForwarder(urls: readonly string[], observe: Observer = () => undefined): Promise<string> {
  let requests = 0;
  const server = createServer((incoming, outgoing) => {
    const { method, url = "" } = incoming;
    const target = new URL(url, urls[requests++ % urls.length]);
    const headers = { ...incoming.headers, host: target.host };
    const body: Buffer[] = [];
    const onwards = request(target, { method, headers, agent: false }, (response) => {
      observe(incoming, body, response);
      outgoing.writeHead(response.statusCode ?? 502, response.headers).flushHeaders();
      response.on("error", () => outgoing.destroy()).pipe(outgoing);
    });
    onwards.on("error", () => outgoing.destroy());
    outgoing.on("close", () => onwards.destroy());
    incoming.on("data", (chunk: Buffer) => body.push(chunk)).pipe(onwards);
  });
  return serveForTest(server);
}
