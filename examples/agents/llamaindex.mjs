// An agent of LlamaIndex with the tools of mic-mcp. Needs `npm install llamaindex @llamaindex/openai @llamaindex/tools @llamaindex/workflow`.
import { openai } from "@llamaindex/openai";
import { mcp } from "@llamaindex/tools";
import { agent } from "@llamaindex/workflow";

const { OPENAI_BASE_URL: baseURL, OPENAI_API_KEY: apiKey, OPENAI_MODEL: model } = process.env;
const [command, ...args] = (process.env.MCP_SERVER_COMMAND ?? "npx -y mic-mcp serve").split(" ");

const mic = mcp({ command, args, env: process.env, verbose: false });
try {
  const assistant = agent({ tools: await mic.tools(), llm: openai({ model, apiKey, baseURL }) });
  const { data } = await assistant.run(process.argv[2]);
  console.log(data.result);
} finally {
  await mic.cleanup();
}
