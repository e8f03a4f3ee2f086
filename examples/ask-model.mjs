// An agent in 50 lines: any model with the Chat Completions API answers a question with the tools of mic-mcp.
// Usage: OPENAI_BASE_URL=… OPENAI_API_KEY=… OPENAI_MODEL=… node ask-model.mjs "Which districts of Telangana have the most mandals?"
import { connect } from "./connect.mjs";

const { OPENAI_BASE_URL = "https://api.openai.com/v1", OPENAI_API_KEY, OPENAI_MODEL } = process.env;
const [question] = process.argv.slice(2);
const MAX_REQUESTS = 20;

if (!OPENAI_API_KEY || !OPENAI_MODEL || !question) {
  console.error("Set OPENAI_API_KEY and OPENAI_MODEL (and OPENAI_BASE_URL for another API), and pass a question.");
  process.exit(2);
}

const client = await connect("ask-model");
try {
  const { tools } = await client.listTools();
  const functions = tools.map(({ name, description, inputSchema }) => ({
    type: "function",
    function: { name, description, parameters: inputSchema },
  }));
  const messages = [
    { role: "system", content: client.getInstructions() ?? "" },
    { role: "user", content: question },
  ];
  for (let count = 0; count < MAX_REQUESTS; count += 1) {
    const response = await fetch(`${OPENAI_BASE_URL}/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${OPENAI_API_KEY}`, "content-type": "application/json" },
      body: JSON.stringify({ model: OPENAI_MODEL, messages, tools: functions }),
    });
    if (!response.ok) throw new Error(`The model's API answered ${response.status}: ${await response.text()}`);
    const { message } = (await response.json()).choices[0];
    messages.push(message);
    if (!message.tool_calls?.length) {
      console.log(message.content);
      break;
    }
    // A failed call returns a text that names the next step, so the model reads it like a result.
    for (const { id, function: wanted } of message.tool_calls) {
      const result = await client.callTool({ name: wanted.name, arguments: JSON.parse(wanted.arguments) });
      messages.push({
        role: "tool",
        tool_call_id: id,
        content: result.content.map(({ text = "" }) => text).join("\n"),
      });
    }
  }
} catch (error) {
  // The cause of a failed request is the reason of the network.
  console.error(error.cause?.message ?? error.message);
  process.exitCode = 1;
} finally {
  await client.close();
}
