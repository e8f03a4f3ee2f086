// Serves the server as a deployment does, without sessions and without sign-in, in the test's own process.
import { onTestFinished } from "vitest";
import { createStatelessClients } from "../../src/teams/frontend/stateless.ts";
import { createEndpoint } from "../../src/transports/http/endpoint.ts";
import { type HttpServer, LISTENER_LIMITS, startServer } from "../../src/transports/http/listener.ts";
import type { HttpService } from "../../src/transports/http/port.ts";
import { createHttpService } from "../../src/transports/http/serve.ts";
import { composeForTest } from "./compose.ts";
import { startForwarder } from "./forwarder.ts";

export function startStateless(service: HttpService): Promise<HttpServer> {
  const serve = createEndpoint(service, createStatelessClients(service));
  const limits = { ...LISTENER_LIMITS, maxConnections: 1_000 };
  return startServer({ ...service, serve }, { address: "127.0.0.1", port: 0, limits });
}

/** Starts two instances that receive requests in turn, and returns their URL. They end with the running test. */
export async function serveStatelessInProcess(env: Readonly<Record<string, string>>): Promise<string> {
  const { runtime, close } = composeForTest(env);
  const service = createHttpService(runtime);
  const instances = [await startStateless(service), await startStateless(service)];
  const forwarder = await startForwarder(instances.map(({ url }) => url));
  onTestFinished(async () => {
    await forwarder.close();
    for (const { drain } of instances) await drain(0, AbortSignal.abort());
    await close();
  });
  return forwarder.url;
}
