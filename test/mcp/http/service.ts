// Something small to serve, in this process: for limits too long to wait for, or too large to fill, with the real server.
import { McpServer } from "@modelcontextprotocol/server";
import { onTestFinished } from "vitest";
import * as z from "zod/v4";
import { type HttpOptions, type HttpServer, startHttpServer } from "../../../src/mcp/http/http-server.ts";
import type { HttpService } from "../../../src/mcp/http/port.ts";
import type { Subscriptions } from "../../../src/mcp/resources/subscriptions.ts";

export interface Served extends HttpServer {
  /** How many servers were asked for. */
  servers(): number;
  /** Ids of calls whose answer left for its client whole. */
  readonly told: readonly (string | number)[];
  /** Ids of calls that began. */
  readonly begun: readonly (string | number)[];
  /** What was logged, but for debug. */
  readonly log: readonly string[];
  /** Lets every call of `wait` end. */
  release(): void;
}

const noSubscriptions = (): Subscriptions => ({
  deliverTo: () => undefined,
  canWatch: () => false,
  join: () => Promise.resolve(false),
  leave: () => undefined,
  leaveAll: () => undefined,
  close: () => undefined,
});

interface ServiceOptions extends Partial<HttpOptions> {
  /** A server is not there before this. */
  readonly ready?: Promise<unknown>;
}

/** Tools: `wait` ends when released, `say` answers with so many bytes. */
export async function serveForTest({ ready, ...options }: ServiceOptions = {}): Promise<Served> {
  const told: (string | number)[] = [];
  const begun: (string | number)[] = [];
  const log: string[] = [];
  let servers = 0;
  const waiting: (() => void)[] = [];
  const service: HttpService = {
    redact: (json) => json,
    async createServer({ deliveries }) {
      servers += 1;
      await ready;
      const server = new McpServer({ name: "test", version: "1" }, {});
      const expectAnswer = (id: string | number, signal: AbortSignal) =>
        deliveries.expect(id, [{ sent: async () => void told.push(id), unread: async () => undefined }], signal);
      server.registerTool("wait", { inputSchema: z.object({}) }, async (_args, { mcpReq: { id, signal } }) => {
        begun.push(id);
        await new Promise<void>((resolve) => {
          waiting.push(resolve);
          signal.addEventListener("abort", () => resolve());
        });
        expectAnswer(id, signal);
        return { content: [] };
      });
      server.registerTool(
        "say",
        { inputSchema: z.object({ bytes: z.int() }) },
        ({ bytes }, { mcpReq: { id, signal } }) => {
          begun.push(id);
          expectAnswer(id, signal);
          return { content: [{ type: "text", text: "x".repeat(bytes) }] };
        },
      );
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
  const server = await startHttpServer(service, {
    address: "127.0.0.1",
    port: 0,
    maxSessions: 100,
    sessionIdleMs: 60_000,
    ...options,
  });
  onTestFinished(() => server.drain(0, AbortSignal.abort()));
  return {
    ...server,
    servers: () => servers,
    told,
    begun,
    log,
    release() {
      for (const go of waiting.splice(0)) go();
    },
  };
}
