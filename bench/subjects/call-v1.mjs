// The reference for ratios: the bare v1 SDK with one hand-written tool that returns the upstream text without parsing it.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { Pool } from "undici";
import * as z from "zod/v4";
import { serve } from "./serve.mjs";

const pool = new Pool(process.env.BASE_URL, { connections: 8 });

function makeServer() {
  const server = new McpServer({ name: "call-v1", version: "1.0.0" });
  server.registerTool(
    "call",
    { description: "Reads one path of the service.", inputSchema: { path: z.string() } },
    async ({ path }) => {
      const { body } = await pool.request({ method: "GET", path, headers: { accept: "application/json" } });
      return { content: [{ type: "text", text: await body.text() }] };
    },
  );
  return server;
}

await serve(makeServer);
