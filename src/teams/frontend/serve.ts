// Serves a deployment for teams over HTTP: behind a balancer that ends TLS, to whoever the identity provider knows.
import { type HttpServer, type ListenOptions, startServer } from "../../mcp/http/http-server.ts";
import { LISTENER_LIMITS, type ListenerLimits } from "../../mcp/http/listener.ts";
import { createPublicDoor, type PublicDoorOptions } from "./frontend.ts";

export interface PublicServerOptions extends PublicDoorOptions, ListenOptions {
  readonly limits?: Partial<ListenerLimits>;
}

const LIMITS: ListenerLimits = {
  ...LISTENER_LIMITS,
  maxConnections: 4_096,
  // Access tokens name groups: some providers write hundreds.
  maxHeaderBytes: 32 * 1024,
};

/** `address`: beyond loopback only where `trustedProxies` says who ends TLS. Rejects when it cannot listen there. */
export const startPublicServer = (options: PublicServerOptions): Promise<HttpServer> =>
  startServer(options.log, () => createPublicDoor(options), {
    ...options,
    limits: { ...LIMITS, ...options.limits },
  });
