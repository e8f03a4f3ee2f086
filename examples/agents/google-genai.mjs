// A chat of the Google Gen AI SDK with the tools of mic-mcp. Needs `npm install @google/genai @modelcontextprotocol/sdk`.
import { GoogleGenAI, mcpToTool } from "@google/genai";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

// The SDK reads GEMINI_API_KEY.
const { GOOGLE_GEMINI_BASE_URL: baseUrl, GEMINI_MODEL: model } = process.env;
const [command, ...args] = (process.env.MCP_SERVER_COMMAND ?? "npx -y mic-mcp serve").split(" ");

const mic = new Client({ name: "google-genai", version: "1.0.0" });
await mic.connect(new StdioClientTransport({ command, args, env: process.env }));
try {
  const { models } = new GoogleGenAI({ httpOptions: { baseUrl } });
  const { text } = await models.generateContent({
    model,
    contents: process.argv[2],
    config: { tools: [mcpToTool(mic)], automaticFunctionCalling: { maximumRemoteCalls: 20 } },
  });
  console.log(text);
} finally {
  await mic.close();
}
