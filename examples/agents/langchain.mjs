// An agent of LangChain with the tools of mic-mcp. Needs `npm install langchain @langchain/mcp-adapters @langchain/openai`.
import { MultiServerMCPClient } from "@langchain/mcp-adapters";
import { ChatOpenAI } from "@langchain/openai";
import { createAgent } from "langchain";

const { OPENAI_BASE_URL: baseURL, OPENAI_API_KEY: apiKey, OPENAI_MODEL: model } = process.env;
const [command, ...args] = (process.env.MCP_SERVER_COMMAND ?? "npx -y mic-mcp serve").split(" ");

const mcp = new MultiServerMCPClient({
  mcpServers: { mic: { transport: "stdio", command, args, env: process.env } },
  // The model's API refuses links to resources, which LangChain sends as files.
  outputHandling: { resource_link: "artifact" },
});
try {
  const agent = createAgent({
    model: new ChatOpenAI({ model, apiKey, configuration: { baseURL } }),
    tools: await mcp.getTools(),
  });
  const { messages } = await agent.invoke({ messages: [{ role: "user", content: process.argv[2] }] });
  console.log(messages.at(-1).text);
} finally {
  await mcp.close();
}
