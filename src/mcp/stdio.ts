// MCP on stdin and stdout, for protocol revisions 2024-11-05 to 2025-11-25 and 2026-07-28.
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { reasonOf } from "../failure.ts";
import type { Runtime } from "./runtime.ts";
import { createServer } from "./server.ts";

/** Serves until stdin ends. Returns a function that ends it earlier. */
export function serveOnStdio(runtime: Runtime): () => Promise<void> {
  const handle = serveStdio(() => createServer(runtime), {
    onerror: (error) => runtime.log.warn({ reason: reasonOf(error) }, "protocol"),
  });
  return () => handle.close();
}
