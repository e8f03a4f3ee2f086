// Serves a test server in this process, behind the real HTTP server, for limits that take too long to reach otherwise.
import { McpServer, type RequestId } from "@modelcontextprotocol/server";
import { onTestFinished } from "vitest";
import * as z from "zod/v4";
import type { Subscriptions } from "../../../src/mcp/resources/subscriptions.ts";
import { type HttpOptions, startHttpServer } from "../../../src/transports/http/serve.ts";

const noop = (): void => undefined;

export const noSubscriptions = (): Subscriptions => ({
  ...{ setUpdateHandler: noop, unsubscribe: noop, unsubscribeAll: noop, close: noop },
  canWatch: () => false,
  subscribe: () => Promise.resolve(false),
});

interface ServerOptions extends Partial<HttpOptions> {
  /** Each MCP server is created only after this has resolved. */
  readonly ready?: Promise<unknown>;
}

/** The tool `wait` ends when released, `say` returns a text of `bytes` bytes. The server ends with the running test. */
export async function serveForTest({ ready, ...options }: ServerOptions = {}) {
  /** Ids of calls that ended without being aborted. */
  const finished: RequestId[] = [];
  const begunIds: RequestId[] = [];
  const log: string[] = [];
  let serverCount = 0;
  const waiting: (() => void)[] = [];
  async function createServer(): Promise<McpServer> {
    serverCount += 1;
    await ready;
    const server = new McpServer({ name: "test", version: "1" }, {});
    server.registerTool("wait", { inputSchema: z.object({}) }, async (_args, { mcpReq: { id, signal } }) => {
      begunIds.push(id);
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
        signal.addEventListener("abort", () => resolve());
      });
      if (!signal.aborted) finished.push(id);
      return { content: [] };
    });
    server.registerTool("say", { inputSchema: z.object({ bytes: z.int() }) }, ({ bytes }, { mcpReq: { id } }) => {
      begunIds.push(id);
      finished.push(id);
      return { content: [{ type: "text", text: "x".repeat(bytes) }] };
    });
    return server;
  }
  const write = (_facts: object, line: string) => void log.push(line);
  const server = await startHttpServer(
    {
      redact: (json) => json,
      createServer,
      createSubscriptions: noSubscriptions,
      log: { isLevelEnabled: () => true, debug: noop, info: write, warn: write, error: write },
    },
    { address: "127.0.0.1", port: 0, access: undefined, maxSessions: 100, sessionIdleMs: 60_000, ...options },
  );
  onTestFinished(() => server.drain(0, AbortSignal.abort()));
  return {
    ...server,
    finished,
    begunIds,
    log,
    servers: () => serverCount,
    /** Ends every call of `wait` in flight. */
    release() {
      for (const resolveWait of waiting.splice(0)) resolveWait();
    },
  };
}
