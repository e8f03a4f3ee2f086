// Sends raw requests of revision 2026-07-28, including requests that no SDK client would send.
import { createModernClient, type Message } from "../mcp/http/raw-client.ts";
import { TASKS } from "../mcp/tasks/client.ts";

const CAPABILITIES = { extensions: { [TASKS]: {} }, elicitation: { form: {} } };
let lastId = 0;

/** The response to one request; for a stream its last message. Throws if no message arrives. */
export async function sendRequest(
  url: string,
  method: string,
  params: Readonly<Record<string, unknown>>,
): Promise<Message> {
  const { messages, status, body } = await createModernClient(url, CAPABILITIES).request(++lastId, method, params)
    .answer;
  const lastMessage = messages.at(-1);
  if (!lastMessage) throw new Error(`${method} was answered ${status}: ${body}`);
  return lastMessage;
}
