// Listens on one address for several servers: each new connection goes to the next server.
import { connect, createServer, type Socket } from "node:net";

/** If a server refuses the connection, the next one gets it. */
export async function startRoundRobin(
  port: number,
  servers: readonly { readonly url: string }[],
): Promise<{ stop(): Promise<void> }> {
  const sockets = new Set<Socket>();
  let nextIndex = 0;
  const forwardConnection = (client: Socket, attemptsLeft: number): void => {
    const { port: at } = new URL(servers[nextIndex++ % servers.length]?.url ?? "");
    const server = connect(Number(at), "127.0.0.1");
    const isRefused = (): boolean => server.connecting || server.pending;
    server.once("error", () => {
      if (isRefused() && attemptsLeft > 0) forwardConnection(client, attemptsLeft - 1);
      else client.destroy();
    });
    server.once("connect", () => {
      sockets.add(server);
      client.pipe(server).pipe(client);
      server.once("close", () => {
        sockets.delete(server);
        client.destroy();
      });
      client.once("close", () => server.destroy());
    });
  };
  const listener = createServer((client) => {
    sockets.add(client);
    client.on("error", () => undefined);
    client.once("close", () => sockets.delete(client));
    forwardConnection(client, servers.length);
  });
  await new Promise<void>((resolve, reject) => {
    listener.once("error", reject);
    listener.listen(port, "127.0.0.1", resolve);
  });
  return {
    stop: () =>
      new Promise((resolve) => {
        listener.close(() => resolve());
        for (const each of sockets) each.destroy();
      }),
  };
}
