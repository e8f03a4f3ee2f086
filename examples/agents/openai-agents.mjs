// An agent of the OpenAI Agents SDK with the tools of mic-mcp. Needs `npm install @openai/agents`.
import { Agent, MCPServerStdio, run } from "@openai/agents";

// The SDK reads OPENAI_API_KEY and OPENAI_BASE_URL.
const [command, ...args] = (process.env.MCP_SERVER_COMMAND ?? "npx -y mic-mcp serve").split(" ");

const mic = new MCPServerStdio({ command, args, env: process.env });
await mic.connect();
try {
  const agent = new Agent({ name: "mic", model: process.env.OPENAI_MODEL, mcpServers: [mic] });
  const { finalOutput } = await run(agent, process.argv[2]);
  console.log(finalOutput);
} finally {
  await mic.close();
}
