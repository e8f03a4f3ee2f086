// A minimal HTTP proxy: tunnels with CONNECT, forwards plain HTTP requests, and records their targets.
import { createServer, request as httpRequest } from "node:http";
import { connect } from "node:net";
import type { Duplex } from "node:stream";
import { onTestFinished } from "vitest";
import { serveForTest } from "../support/http-server.ts";

export interface Proxy {
  readonly url: string;
  /** The targets, in order: `host:port` of a tunnel, the absolute URL of a forwarded request. */
  readonly passed: readonly string[];
}

/** Starts the proxy for the running test only. `refuseWith`: the status that it returns instead of forwarding; "silence": none. */
export async function proxyForTest(refuseWith?: number | "silence"): Promise<Proxy> {
  const passed: string[] = [];
  const tunnels = new Set<Duplex>();
  const server = createServer((request, response) => {
    passed.push(request.url ?? "");
    if (refuseWith === "silence") return;
    if (refuseWith !== undefined) {
      response.writeHead(refuseWith).end();
      return;
    }
    const { method = "GET", headers } = request;
    const onward = httpRequest(new URL(request.url ?? ""), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.on("error", () => response.destroy());
    request.pipe(onward);
  });
  server.on("connect", ({ url = "" }, socket) => {
    passed.push(url);
    tunnels.add(socket);
    // A reset of one half closes both.
    socket.on("error", () => undefined);
    if (refuseWith === "silence") return;
    if (refuseWith !== undefined) {
      socket.end(`HTTP/1.1 ${refuseWith} No\r\ncontent-length: 0\r\n\r\n`);
      return;
    }
    const { hostname, port } = new URL(`http://${url}`);
    const onward = connect(Number(port), hostname, () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      onward.pipe(socket).pipe(onward);
    });
    onward.on("error", () => socket.destroy());
    socket.on("close", () => onward.destroy());
  });
  const url = await serveForTest(server);
  onTestFinished(() => {
    for (const tunnel of tunnels) tunnel.destroy();
  });
  return { url, passed };
}
