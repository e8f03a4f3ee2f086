// Finds a free port of this machine.
import { randomInt } from "node:crypto";
import { once } from "node:events";
import type { Server as HttpServer } from "node:http";
import { createServer, type Server } from "node:net";

/** Below the ports that systems give to connections (from 32768 on), so that no connection takes a port before it is used. */
const [FIRST_PORT, LAST_PORT] = [20_000, 32_000];

export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST_PORT, LAST_PORT);
    const server = createServer();
    const isFree = await new Promise((resolve) => {
      server.once("error", () => resolve(false)).listen(port, "127.0.0.1", () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}

/** Starts the server on a port of the loopback address (default: any free one), and returns its URL. */
export async function listeningUrl(server: Server, port = 0): Promise<string> {
  await once(server.listen(port, "127.0.0.1"), "listening");
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("the server does not listen");
  return `http://127.0.0.1:${address.port}`;
}

export async function closeServer(server: HttpServer): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  await closed;
}

/** A free port of four digits, because the unit puts a 1 before it for the metrics. `from`: the first candidate. */
export async function freeShortPort(from: number): Promise<number> {
  const isFree = await new Promise<boolean>((resolve) => {
    const server = createServer().once("error", () => resolve(false));
    server.listen(from, "0.0.0.0", () => server.close(() => resolve(true)));
  });
  return isFree ? from : freeShortPort(from + 1);
}
