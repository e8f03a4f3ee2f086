// An agent of the AI SDK with the tools of mic-mcp. Needs `npm install ai @ai-sdk/mcp @ai-sdk/openai-compatible`.
import { createMCPClient } from "@ai-sdk/mcp";
import { Experimental_StdioMCPTransport as StdioTransport } from "@ai-sdk/mcp/mcp-stdio";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, isStepCount } from "ai";

const { OPENAI_BASE_URL: baseURL = "https://api.openai.com/v1", OPENAI_API_KEY: apiKey, OPENAI_MODEL } = process.env;
const [command, ...args] = (process.env.MCP_SERVER_COMMAND ?? "npx -y mic-mcp serve").split(" ");

const mic = await createMCPClient({ transport: new StdioTransport({ command, args, env: process.env }) });
try {
  const { text } = await generateText({
    model: createOpenAICompatible({ name: "model", baseURL, apiKey })(OPENAI_MODEL),
    tools: await mic.tools(),
    stopWhen: isStepCount(20),
    prompt: process.argv[2],
  });
  console.log(text);
} finally {
  await mic.close();
}
