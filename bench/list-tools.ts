// Lists the tools of a server with the client of the MCP SDK (v1), which compiles each output schema when it lists the tools, and prints
// the milliseconds from the spawn to the end. It runs in a new process, as the first connection of a host. Arguments: those of node.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [, , ...args] = process.argv;
const env = Object.fromEntries(Object.entries(process.env).map(([name, value]) => [name, value ?? ""]));
const startedAt = performance.now();
const client = new Client({ name: "bench", version: "1" });
await client.connect(new StdioClientTransport({ command: process.execPath, args, env, stderr: "ignore" }));
await client.listTools();
process.stdout.write(String(performance.now() - startedAt));
await client.close();
