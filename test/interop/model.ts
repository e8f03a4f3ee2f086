// A model API on this machine for hosts: requests one tool call after the other and then answers "done". It implements Anthropic's
// Messages, OpenAI's Responses and Chat Completions, and Gemini's generateContent, so a host completes a whole run without a login.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod/v4";
import { serveForTest } from "../support/http-server.ts";

export interface ToolRequest {
  /** The tool's name in the server. A host may add a prefix. */
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

const Named = z.looseObject({ name: z.string() });
const list = <S extends z.ZodType>(item: S) => z.array(item).default([]);
/** Each API's form: a named tool, a `function` with a name, a namespace with tools, `functionDeclarations`, a search for tools. */
const ToolEntry = z.looseObject({
  type: z.string().optional(),
  name: z.string().optional(),
  function: Named.optional(),
  tools: list(Named),
  functionDeclarations: list(Named),
});
const Body = z.looseObject({
  stream: z.boolean().default(false),
  tools: list(ToolEntry),
  messages: list(z.looseObject({ role: z.string(), content: z.unknown(), tool_call_id: z.string().optional() })),
  /** `tools`: those that a search found. */
  input: z
    .union([z.string(), z.array(z.looseObject({ type: z.string().optional(), tools: z.unknown().optional() }))])
    .default([]),
  contents: list(z.looseObject({ parts: list(z.looseObject({ functionResponse: z.unknown().optional() })) })),
});
type Body = z.infer<typeof Body>;

interface OfferedTool {
  readonly name: string;
  readonly namespace?: string;
  /** The tool that calls this one by its name. */
  readonly caller?: string;
}

/** A host that loads tools on demand offers a search: Claude Code and Qwen Code as a tool of this name, Codex as an entry of this type. */
const SEARCHES = ["ToolSearch", "tool_search"];
/** Qwen Code does not offer a found tool, but a tool that calls it. */
const CALLER = "tool_call";
/** Calls of a search have this prefix in their id. */
const SEARCH_ID = "search_";

function findOfferedTools({ tools, messages, input }: Body): readonly OfferedTool[] {
  const found = typeof input === "string" ? [] : input.flatMap((item) => list(ToolEntry).catch([]).parse(item.tools));
  const offered = [...tools, ...found].flatMap(
    ({ type = "", name, function: chat, tools: inNamespace, functionDeclarations }) => [
      ...inNamespace.map((tool) => ({ name: tool.name, namespace: name ?? "" })),
      ...[chat ?? [], functionDeclarations].flat().map((tool) => ({ name: tool.name })),
      ...(name !== undefined && inNamespace.length === 0 ? [{ name }] : []),
      ...(SEARCHES.includes(type) ? [{ name: type }] : []),
    ],
  );
  if (!offered.some(({ name }) => name === CALLER)) return offered;
  const searches = messages.filter(({ tool_call_id = "" }) => tool_call_id.startsWith(SEARCH_ID));
  const names = JSON.stringify(searches).matchAll(/mcp__\w+/g);
  return [...offered, ...[...names].map(([name]) => ({ name, caller: CALLER }))];
}

const ToolResult = z.looseObject({ type: z.literal("tool_result") });
const findToolResults = ({ messages, input, contents }: Body): readonly string[] =>
  [
    ...messages.flatMap(({ role, content, tool_call_id }) =>
      role === "tool"
        ? [{ tool_call_id, content }]
        : Array.isArray(content)
          ? content.filter((part) => ToolResult.safeParse(part).success)
          : [],
    ),
    ...(typeof input === "string" ? [] : input.filter(({ type }) => type === "function_call_output")),
    ...contents.flatMap(({ parts }) => parts.flatMap(({ functionResponse }) => functionResponse ?? [])),
  ]
    .map((result) => JSON.stringify(result))
    .filter((result) => !result.includes(`"${SEARCH_ID}`));

type ModelAnswer = { readonly call: OfferedTool; readonly args: string; readonly id: string } | undefined;

/** Hosts treat two messages with the same id as one. */
const messageId = (reply: ModelAnswer): string => `msg_${reply?.id ?? "last"}`;

function anthropicEvents(reply: ModelAnswer): readonly object[] {
  const message = { id: messageId(reply), type: "message", role: "assistant", model: "fake", content: [] };
  const [start, delta, stop_reason] =
    reply === undefined
      ? [{ type: "text", text: "" }, { type: "text_delta", text: "done" }, "end_turn"]
      : [
          { type: "tool_use", id: reply.id, name: reply.call.name, input: {} },
          { type: "input_json_delta", partial_json: reply.args },
          "tool_use",
        ];
  const usage = { input_tokens: 1, output_tokens: 1 };
  return [
    { type: "message_start", message: { ...message, stop_reason: null, stop_sequence: null, usage } },
    { type: "content_block_start", index: 0, content_block: start },
    { type: "content_block_delta", index: 0, delta },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage },
    { type: "message_stop" },
  ];
}

const responseOf = (status: string, ...output: readonly object[]) => ({
  ...{ id: "resp_1", object: "response", created_at: 0, model: "fake", status, output },
  usage: {
    ...{ input_tokens: 1, input_tokens_details: null, output_tokens: 1, output_tokens_details: null },
    total_tokens: 2,
  },
});

function outputItemOf(reply: ModelAnswer): object {
  const status = "completed";
  if (reply === undefined) {
    const content = [{ type: "output_text", text: "done", annotations: [] }];
    return { type: "message", id: messageId(reply), role: "assistant", status, content };
  }
  const { id, call, args } = reply;
  return call.name === "tool_search"
    ? { type: "tool_search_call", call_id: id, execution: "client", status, arguments: JSON.parse(args) }
    : { type: "function_call", id: `fc_${id}`, call_id: id, ...call, arguments: args, status };
}

const responsesEvents = (item: object): readonly object[] => [
  { type: "response.created", response: responseOf("in_progress") },
  { type: "response.output_item.added", output_index: 0, item },
  { type: "response.output_item.done", output_index: 0, item },
  { type: "response.completed", response: responseOf("completed", item) },
];

function chatAnswer(reply: ModelAnswer, object: string, choice: object) {
  return { id: messageId(reply), object, created: 0, model: "fake", choices: [{ index: 0, ...choice }] };
}

function chatMessage(reply: ModelAnswer) {
  if (reply === undefined) return { role: "assistant", content: "done" };
  const called = { name: reply.call.name, arguments: reply.args };
  return {
    role: "assistant",
    content: null,
    tool_calls: [{ index: 0, id: reply.id, type: "function", function: called }],
  };
}

function geminiChunk(reply: ModelAnswer) {
  const part =
    reply === undefined ? { text: "done" } : { functionCall: { name: reply.call.name, args: JSON.parse(reply.args) } };
  return {
    candidates: [{ index: 0, finishReason: "STOP", content: { role: "model", parts: [part] } }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
  };
}

/** Sends events, each with its type, if it has one, as the event's name. `end`: the last line. */
function sendEvents(response: ServerResponse, events: readonly object[], end = ""): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const event of events) {
    const name = "type" in event ? `event: ${String(event.type)}\n` : "";
    response.write(`${name}data: ${JSON.stringify(event)}\n\n`);
  }
  response.end(end);
}

/** The measured hosts request streams of Anthropic's Messages; some libraries request no stream of the other APIs. */
function answer(path: string, { stream }: Body, reply: ModelAnswer, response: ServerResponse): void {
  const json = (value: object) =>
    void response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
  const item = outputItemOf(reply);
  const finish_reason = reply === undefined ? "stop" : "tool_calls";
  if (path.endsWith("/messages")) sendEvents(response, anthropicEvents(reply));
  else if (path.endsWith("/responses") && stream) sendEvents(response, responsesEvents(item));
  else if (path.endsWith("/responses")) json(responseOf("completed", item));
  else if (path.endsWith(":streamGenerateContent")) sendEvents(response, [geminiChunk(reply)]);
  else if (path.endsWith(":generateContent")) json(geminiChunk(reply));
  else if (path.endsWith("/chat/completions") && stream) {
    const [message, end] = [
      { delta: chatMessage(reply), finish_reason: null },
      { delta: {}, finish_reason },
    ];
    const chunks = [message, end].map((choice) => chatAnswer(reply, "chat.completion.chunk", choice));
    sendEvents(response, chunks, "data: [DONE]\n\n");
  } else if (path.endsWith("/chat/completions"))
    json(chatAnswer(reply, "chat.completion", { message: chatMessage(reply), finish_reason }));
  else response.writeHead(404).end("{}");
}

/** A host may start the server only now, so the search is repeated this often, with this pause. */
const MAX_SEARCHES = 20;
const SEARCH_PAUSE_MS = 1_000;

function createAnswerChooser() {
  let searches = 0;
  return async (next: ToolRequest, index: number, tools: readonly OfferedTool[]): Promise<ModelAnswer> => {
    const call = tools.find(({ name }) => name.endsWith(next.tool));
    const id = `call_${index}`;
    if (call?.caller !== undefined)
      return { call: { name: call.caller }, args: JSON.stringify({ name: call.name, arguments: next.arguments }), id };
    if (call) return { call, args: JSON.stringify(next.arguments), id };
    const search = tools.find(({ name }) => SEARCHES.includes(name));
    if (!search || searches >= MAX_SEARCHES) return undefined;
    if (searches > 0) await sleep(SEARCH_PAUSE_MS);
    searches += 1;
    return {
      call: search,
      args: JSON.stringify({ query: next.tool.replaceAll("_", " "), max_results: 5 }),
      id: `${SEARCH_ID}${searches}`,
    };
  };
}

/** Starts the model until the running test ends. It requests `calls` in order, from hosts that offer their tools. */
export async function startModel(calls: readonly ToolRequest[]) {
  const chooseAnswer = createAnswerChooser();
  let results: readonly string[] = [];
  let firstOffer: readonly OfferedTool[] = [];
  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? "/", "http://model");
    const body = Body.parse(JSON.parse((await text(request)) || "{}"));
    const tools = findOfferedTools(body);
    if (firstOffer.length === 0) firstOffer = tools;
    const found = findToolResults(body);
    if (found.length > results.length) results = found;
    const next = body.tools.length === 0 ? undefined : calls[found.length];
    answer(pathname, body, next && (await chooseAnswer(next, found.length, tools)), response);
  }
  const server = createServer((request, response) => {
    respond(request, response).catch((error: unknown) => void response.writeHead(500).end(String(error)));
  });
  const url = await serveForTest(server);
  return {
    url,
    /** The results of the tool calls that the host sent to the model, as JSON text. */
    toolResults: () => results,
    /** Whether the first request with tools had all of these. */
    offeredAtOnce: (names: readonly string[]) =>
      names.every((tool) => firstOffer.some(({ name }) => name.endsWith(tool))),
  };
}
