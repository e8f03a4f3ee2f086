// The floor: a server without an SDK, with one tool that returns the upstream text without parsing it. It checks nothing.
import { createInterface } from "node:readline";
import { Pool } from "undici";

const pool = new Pool(process.env.BASE_URL, { connections: 8 });
const tools = [{ name: "call", description: "Reads one path of the service.", inputSchema: { type: "object" } }];

const results = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "bare", version: "1.0.0" },
  }),
  "tools/list": () => ({ tools }),
  async "tools/call"({ arguments: { path } }) {
    const { body } = await pool.request({ method: "GET", path, headers: { accept: "application/json" } });
    return { content: [{ type: "text", text: await body.text() }] };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  const answer = (result) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`);
  if (id !== undefined) Promise.resolve(results[method](params)).then(answer);
}
process.exit();
