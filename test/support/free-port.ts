// Finds a free port of this machine.
import { createServer, type Server } from "node:net";

/** Returns a free loopback port. Another program may take it before it is used, which is rare enough for a test. */
export async function freePort(): Promise<number> {
  const server = createServer();
  const { port } = new URL(await listeningUrl(server));
  await new Promise((resolve) => server.close(resolve));
  return Number(port);
}

/** Starts the server on any free port of the loopback address, and returns its URL. */
export async function listeningUrl(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("the server does not listen");
  return `http://127.0.0.1:${address.port}`;
}
