// A bound rather than an alternative: call-v1 with JSON parsing and without any checks. The view "summary" returns the id and
// state of each item as text and as structuredContent. The view "full" returns the original text, and the parsed JSON as
// structuredContent.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { Pool } from "undici";
import * as z from "zod/v4";

const pool = new Pool(process.env.BASE_URL, { connections: 8 });
const server = new McpServer({ name: "read-v1", version: "1.0.0" });

function summary({ data }) {
  if (!Array.isArray(data)) return { data };
  return { data: data.map(({ id, state }) => ({ id, state })) };
}

server.registerTool(
  "call",
  {
    description: "Reads one path of the service.",
    inputSchema: { path: z.string(), view: z.enum(["summary", "full"]) },
  },
  async ({ path, view }) => {
    const { body } = await pool.request({ method: "GET", path, headers: { accept: "application/json" } });
    const text = await body.text();
    const answer = JSON.parse(text);
    if (view === "full") return { content: [{ type: "text", text }], structuredContent: answer };
    const structuredContent = summary(answer);
    return { content: [{ type: "text", text: JSON.stringify(structuredContent) }], structuredContent };
  },
);
await server.connect(new StdioServerTransport());
