// An agent of Mastra with the tools of mic-mcp. Needs `npm install @mastra/core @mastra/mcp`.
import { Agent } from "@mastra/core/agent";
import { MCPClient } from "@mastra/mcp";

const { OPENAI_BASE_URL: url = "https://api.openai.com/v1", OPENAI_API_KEY: apiKey, OPENAI_MODEL } = process.env;
const [command, ...args] = (process.env.MCP_SERVER_COMMAND ?? "npx -y mic-mcp serve").split(" ");

const mcp = new MCPClient({ servers: { mic: { command, args, env: process.env } } });
try {
  const agent = new Agent({
    id: "mic",
    name: "mic",
    instructions: "Answer with the tools.",
    model: { id: `openai/${OPENAI_MODEL}`, url, apiKey },
    tools: await mcp.listTools(),
  });
  const { text } = await agent.generate(process.argv[2], { maxSteps: 20 });
  console.log(text);
} finally {
  await mcp.disconnect();
}
