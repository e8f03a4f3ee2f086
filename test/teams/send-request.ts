// Sends raw requests of revision 2026-07-28, including requests that no SDK client would send.

import { ACCEPT, type Message, send } from "../mcp/http/raw-client.ts";
import { TASKS } from "../mcp/tasks/client.ts";

const META = "io.modelcontextprotocol";
let lastId = 0;

/** The response to one request; for a stream its last message. Throws if no message arrives. */
export async function sendRequest(
  url: string,
  method: string,
  params: Readonly<Record<string, unknown>>,
): Promise<Message> {
  const name = params["taskId"] ?? params["name"] ?? params["uri"];
  const _meta = {
    [`${META}/protocolVersion`]: "2026-07-28",
    [`${META}/clientInfo`]: { name: "asking", version: "1" },
    [`${META}/clientCapabilities`]: { extensions: { [TASKS]: {} }, elicitation: { form: {} } },
  };
  const { messages, status, body } = await send(url, {
    headers: {
      "content-type": "application/json",
      accept: ACCEPT,
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      ...(typeof name === "string" && { "mcp-name": name }),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: ++lastId, method, params: { ...params, _meta } }),
  }).answer;
  const lastMessage = messages.at(-1);
  if (!lastMessage) throw new Error(`${method} was answered ${status}: ${body}`);
  return lastMessage;
}
