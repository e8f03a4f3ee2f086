// Starts mic-mcp and connects to it. Needs `npm install @modelcontextprotocol/client`.
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

/** MCP_SERVER_COMMAND is the command of the server (default: the published package). The server gets this program's variables. */
const [command, ...args] = (process.env.MCP_SERVER_COMMAND ?? "npx -y mic-mcp serve").split(" ");

/** Connects and returns the client. `name` is this program's name. */
export async function connect(name) {
  const client = new Client({ name, version: "1.0.0" });
  await client.connect(new StdioClientTransport({ command, args, env: process.env }));
  return client;
}

/** Calls a tool. Throws an error with the server's text, which names the next step, if the call failed. */
export async function call(client, tool, toolArguments) {
  const result = await client.callTool({ name: tool, arguments: toolArguments });
  if (result.isError) throw new Error(result.content.map(({ text }) => text).join("\n"));
  return result.structuredContent;
}
