// The floor for starts: the bare v1 SDK with a tool that does nothing, bundled into one file.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";

const server = new McpServer({ name: "echo-v1", version: "1.0.0" });
server.registerTool("echo", { description: "Says ok." }, async () => ({ content: [{ type: "text", text: "ok" }] }));
await server.connect(new StdioServerTransport());
