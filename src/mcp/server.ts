// The MCP server: one instance for each connection, whatever protocol era it speaks.
import { ProtocolError, ProtocolErrorCode, Server } from "@modelcontextprotocol/server";
import { callTool } from "./call.ts";
import { instructions } from "./instructions.ts";
import type { Runtime } from "./runtime.ts";
import { listed, offeredTools, whyNotOffered } from "./surface.ts";

const HOUR_MS = 3_600_000;

export function createServer(runtime: Runtime): Server {
  const { catalogue, config, notes, version } = runtime;
  const offered = new Map(offeredTools(catalogue, config).map((tool) => [tool.name, tool]));
  const listing = [...offered.values()].map((tool) => listed(tool, config));

  const server = new Server(
    { name: "mic-mcp", title: "mic-mcp: geography and job processing", version },
    {
      capabilities: { tools: {} },
      instructions: instructions(config, notes),
      // The list depends on the configuration alone, which never changes while the process lives.
      cacheHints: { "tools/list": { ttlMs: HOUR_MS, cacheScope: "public" } },
    },
  );
  server.setRequestHandler("tools/list", () => ({ tools: listing }));
  server.setRequestHandler("tools/call", async ({ params }, context) => {
    const tool = offered.get(params.name);
    if (tool) return await callTool(tool, params.arguments, runtime, context);
    const hidden = catalogue.find(({ name }) => name === params.name);
    const why = hidden ? whyNotOffered(hidden, config) : `the tools are: ${[...offered.keys()].join(", ")}`;
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool ${params.name}: ${why}`);
  });
  return server;
}
