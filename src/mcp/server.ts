// The MCP server: one instance for each connection, whatever protocol era it speaks.
import { setTimeout as sleep } from "node:timers/promises";
import { ProtocolError, ProtocolErrorCode, Server } from "@modelcontextprotocol/server";
import { callTool } from "./call.ts";
import type { Deliveries } from "./deliveries.ts";
import { instructions } from "./instructions.ts";
import { offeredResources, serveResources } from "./resources.ts";
import type { Runtime } from "./runtime.ts";
import { listed, offeredTools, whyNotOffered } from "./surface.ts";

const HOUR_MS = 3_600_000;

/** The stored login's workspace makes `workspaceId` optional in listings; a slow keychain must not hold up a connection. */
const WORKSPACE_WAIT_MS = 1_000;

const knownSoon = ({ workspaceId }: Runtime): Promise<string | undefined> =>
  Promise.race([workspaceId().catch(() => undefined), sleep(WORKSPACE_WAIT_MS, undefined, { ref: false })]);

export async function createServer(runtime: Runtime, deliveries: Deliveries): Promise<Server> {
  const { catalogue, config, notes, version } = runtime;
  const workspaceId = await knownSoon(runtime);
  const offered = new Map(offeredTools(catalogue, config).map((tool) => [tool.name, tool]));

  const server = new Server(
    { name: "mic-mcp", title: "mic-mcp: geography and job processing", version },
    {
      capabilities: { tools: {}, ...(offeredResources(runtime).length > 0 && { resources: {} }) },
      instructions: instructions(config, workspaceId, notes),
      // The lists depend on the configuration alone, which never changes while the process lives.
      cacheHints: {
        "tools/list": { ttlMs: HOUR_MS, cacheScope: "public" },
        "resources/list": { ttlMs: HOUR_MS, cacheScope: "public" },
        "resources/templates/list": { ttlMs: HOUR_MS, cacheScope: "public" },
      },
    },
  );
  server.setRequestHandler("tools/list", async () => {
    const known = workspaceId ?? (await knownSoon(runtime));
    return { tools: [...offered.values()].map((tool) => listed(tool, known)) };
  });
  server.setRequestHandler("tools/call", async ({ params }, context) => {
    const tool = offered.get(params.name);
    if (tool) return await callTool(tool, params.arguments, { runtime, deliveries, context });
    const hidden = catalogue.find(({ name }) => name === params.name);
    const why = hidden ? whyNotOffered(hidden, config) : `the tools are: ${[...offered.keys()].join(", ")}`;
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool ${params.name}: ${why}`);
  });
  if (offeredResources(runtime).length > 0) serveResources(server, runtime);
  return server;
}
