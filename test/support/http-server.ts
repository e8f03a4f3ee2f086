// Starts HTTP servers that end with the running test.
import type { Server } from "node:http";
import { onTestFinished } from "vitest";
import { closeServer, listeningUrl } from "./free-port.ts";

/** Starts the server until the running test ends, and returns its URL. */
export async function serveForTest(server: Server): Promise<string> {
  onTestFinished(() => closeServer(server));
  return await listeningUrl(server);
}
