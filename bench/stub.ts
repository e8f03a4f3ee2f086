// The stub service as a separate process. It creates all responses before the first request and checks nothing. Its argument is
// the latency in milliseconds: the delay before each response (default 0).
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { isJsonObject, parseJson } from "../src/contract/json.ts";
import { createJobPage, input, job, states, toEnvelope } from "./stub-responses.ts";

const MEGABYTE = Buffer.alloc(1024 * 1024, "mic-mcp bench\n");
const toJsonBuffer = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

// Pages of each length: a server that returns only whole items requests as many items as fit.
const pages = new Map(Array.from({ length: 100 }, (_, at) => [String(at + 1), toJsonBuffer(createJobPage(at + 1))]));
const responses = {
  states: toJsonBuffer(states),
  input: toJsonBuffer(toEnvelope(input)),
  job: toJsonBuffer(toEnvelope(job)),
  token: toJsonBuffer({ access_token: "bench-token-0123456789", token_type: "Bearer", expires_in: 86_400 }),
};

const latencyMs = Number(process.argv[2] ?? 0);

function send(response: ServerResponse, status: number, body: Buffer): void {
  const respond = () =>
    response.writeHead(status, { "content-type": "application/json", "content-length": body.length }).end(body);
  if (latencyMs === 0) respond();
  else setTimeout(respond, latencyMs);
}

async function sendAsset(response: ServerResponse, megabytes: number): Promise<void> {
  const headers = { "content-type": "application/octet-stream", "content-length": megabytes * MEGABYTE.length };
  response.writeHead(200, headers);
  for (let sent = 0; sent < megabytes; sent++)
    if (!response.write(MEGABYTE)) await new Promise((resolve) => response.once("drain", resolve));
  response.end();
}

/** Answers with the input that was registered, because a client may check that the answer is about its request. */
async function sendInput(response: ServerResponse, request: IncomingMessage): Promise<void> {
  const registration = parseJson(await text(request));
  send(response, 201, toJsonBuffer(toEnvelope({ ...input, ...(isJsonObject(registration) && registration) })));
}

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://stub");
  const asset = /\/assets\/asset_(\d+)\/content$/.exec(pathname);
  if (request.method === "POST" && !pathname.endsWith("/oauth/token")) return void sendInput(response, request);
  request.resume();
  if (asset) void sendAsset(response, Number(asset[1]));
  else if (pathname.endsWith("/geo/states")) send(response, 200, responses.states);
  else if (pathname.endsWith("/oauth/token")) send(response, 200, responses.token);
  else if (pathname.endsWith("/mic/jobs"))
    send(response, 200, pages.get(searchParams.get("limit") ?? "25") ?? toJsonBuffer({}));
  else if (pathname.includes("/mic/jobs/")) send(response, 200, responses.job);
  else if (pathname.includes("/mic/inputs/")) send(response, 200, responses.input);
  else send(response, 404, toJsonBuffer({}));
});
// Connections stay open while they are idle, so that no measured server has to reconnect.
server.keepAliveTimeout = 600_000;
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}` })}\n`);
});
process.stdin.on("end", () => process.exit(0)).resume();
