// Serves a test server in this process, behind the real HTTP server, for limits that take too long to reach otherwise.
import { McpServer } from "@modelcontextprotocol/server";
import { onTestFinished } from "vitest";
import * as z from "zod/v4";
import type { Subscriptions } from "../../../src/mcp/resources/subscriptions.ts";
import type { HttpServer } from "../../../src/transports/http/listener.ts";
import type { HttpService } from "../../../src/transports/http/port.ts";
import { type HttpOptions, startHttpServer } from "../../../src/transports/http/serve.ts";

export interface TestServerState {
  /** Number of MCP servers that were created. */
  servers(): number;
  /** Ids of calls that ended without being aborted. */
  readonly finished: readonly (string | number)[];
  /** Ids of calls that started. */
  readonly begunIds: readonly (string | number)[];
  /** Logged lines, without those of level debug. */
  readonly log: readonly string[];
  /** Progress that clients reported while they answered the questions of `ask`. */
  readonly progress: readonly number[];
  /** Ends every call of `wait` in flight. */
  release(): void;
}

export const noSubscriptions = (): Subscriptions => ({
  setUpdateHandler: () => undefined,
  canWatch: () => false,
  subscribe: () => Promise.resolve(false),
  unsubscribe: () => undefined,
  unsubscribeAll: () => undefined,
  close: () => undefined,
});

interface ServiceOptions extends Partial<HttpOptions> {
  /** Each MCP server is created only after this has resolved. */
  readonly ready?: Promise<unknown> | undefined;
}

/** Tools: `wait` ends when released, `say` returns a text of `bytes` bytes, and `ask` returns the user's action. */
export function createTestService(ready?: Promise<unknown>): TestServerState & { readonly service: HttpService } {
  const finished: (string | number)[] = [];
  const begunIds: (string | number)[] = [];
  const progress: number[] = [];
  const log: string[] = [];
  let servers = 0;
  const waiting: (() => void)[] = [];
  const service: HttpService = {
    redact: (json) => json,
    async createServer() {
      servers += 1;
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
      server.registerTool("ask", { inputSchema: z.object({}) }, async (_args, { mcpReq: { elicitInput } }) => {
        const form = { type: "object" as const, properties: {} };
        const onprogress = (at: { progress: number }) => progress.push(at.progress);
        const { action } = await elicitInput({ message: "?", requestedSchema: form }, { onprogress });
        return { content: [{ type: "text", text: action }] };
      });
      return server;
    },
    createSubscriptions: noSubscriptions,
    log: {
      debug: () => undefined,
      info: (_facts, line) => void log.push(line),
      warn: (_facts, line) => void log.push(line),
      error: (_facts, line) => void log.push(line),
    },
  };
  return {
    service,
    servers: () => servers,
    finished,
    begunIds,
    log,
    progress,
    release() {
      for (const resolveWait of waiting.splice(0)) resolveWait();
    },
  };
}

export type RunningServer = HttpServer & TestServerState;

export async function serveForTest({ ready, ...options }: ServiceOptions = {}): Promise<RunningServer> {
  const { service, ...bench } = createTestService(ready);
  const server = await startHttpServer(service, {
    address: "127.0.0.1",
    port: 0,
    maxSessions: 100,
    sessionIdleMs: 60_000,
    ...options,
  });
  onTestFinished(() => server.drain(0, AbortSignal.abort()));
  return { ...server, ...bench };
}
