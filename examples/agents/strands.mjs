// An agent of Strands Agents with the tools of mic-mcp. Needs `npm install --legacy-peer-deps` with @strands-agents/sdk,
// @modelcontextprotocol/sdk, @opentelemetry/api, openai and zod, because the SDK names an older openai.
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { Agent, McpClient } from "@strands-agents/sdk";
import { OpenAIModel } from "@strands-agents/sdk/models/openai";

const { OPENAI_BASE_URL: baseURL, OPENAI_API_KEY: apiKey, OPENAI_MODEL: modelId } = process.env;
const [command, ...args] = (process.env.MCP_SERVER_COMMAND ?? "npx -y mic-mcp serve").split(" ");

const mic = new McpClient({ transport: new StdioClientTransport({ command, args, env: process.env }) });
try {
  const agent = new Agent({
    model: new OpenAIModel({ api: "chat", modelId, apiKey, clientConfig: { baseURL } }),
    tools: [mic],
    printer: false,
  });
  console.log(String(await agent.invoke(process.argv[2])));
} finally {
  await mic.disconnect();
}
