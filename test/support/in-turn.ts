// One address before several servers: each new connection goes to the next of them, as a name with several addresses is used.
import { connect, createServer, type Socket } from "node:net";

/** Where the next one takes no connection, the one after it gets it. */
export async function inTurn(
  port: number,
  servers: readonly { readonly url: string }[],
): Promise<{ stop(): Promise<void> }> {
  const open = new Set<Socket>();
  let turn = 0;
  const lead = (client: Socket, triesLeft: number): void => {
    const { port: at } = new URL(servers[turn++ % servers.length]?.url ?? "");
    const server = connect(Number(at), "127.0.0.1");
    const isRefused = (): boolean => server.connecting || server.pending;
    server.once("error", () => {
      if (isRefused() && triesLeft > 0) lead(client, triesLeft - 1);
      else client.destroy();
    });
    server.once("connect", () => {
      open.add(server);
      client.pipe(server).pipe(client);
      server.once("close", () => {
        open.delete(server);
        client.destroy();
      });
      client.once("close", () => server.destroy());
    });
  };
  const front = createServer((client) => {
    open.add(client);
    client.on("error", () => undefined);
    client.once("close", () => open.delete(client));
    lead(client, servers.length);
  });
  await new Promise<void>((resolve, reject) => {
    front.once("error", reject);
    front.listen(port, "127.0.0.1", resolve);
  });
  return {
    stop: () =>
      new Promise((resolve) => {
        front.close(() => resolve());
        for (const each of open) each.destroy();
      }),
  };
}
