// Answers a request of which nothing is said but its answer: as plain JSON, or, where that takes long, as a stream with its event.
import type { IncomingHttpHeaders } from "node:http";
import { type JSONRPCMessage, type JSONRPCRequest, parseJSONRPCMessage } from "@modelcontextprotocol/server";
import type { AnswersAlone, Whole } from "./port.ts";
import { refusal } from "./refusal.ts";

/** Hands a request to a server. `told` gets the answer, or undefined where the server ends before. Returns how to give it up. */
export type Ask = (request: JSONRPCRequest, told: (answer: JSONRPCMessage | undefined) => void) => () => void;

/** A client that has waited this long for a response's head is told that there will be one. */
const SOON_MS = 1_000;
/** As the SDK keeps its streams alive. */
const KEEP_ALIVE_MS = 15_000;

const STREAM_HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

const bytes = new TextEncoder();

/** The one request of a body that can be answered so; undefined where the SDK's HTTP has more to say of it. */
export function requestAlone(
  body: unknown,
  { accept = "" }: IncomingHttpHeaders,
  answersAlone: AnswersAlone | undefined,
): JSONRPCRequest | undefined {
  if (!answersAlone || !accept.includes("application/json") || !accept.includes("text/event-stream")) return undefined;
  try {
    const message = parseJSONRPCMessage(body);
    return "method" in message && "id" in message && answersAlone(message) ? message : undefined;
  } catch {
    // No JSON-RPC: the SDK says so.
    return undefined;
  }
}

/** `headers`: of the response. `signal`: the client has gone; nobody reads what comes then. */
export function answerTo(
  request: JSONRPCRequest,
  ask: Ask,
  { headers = {}, signal }: { headers?: Readonly<Record<string, string>>; signal: AbortSignal },
): Promise<Response | Whole> {
  return new Promise((resolve) => {
    let stream: ReadableStreamDefaultController<Uint8Array> | undefined;
    let keepAlive: NodeJS.Timeout | undefined;

    function over(): void {
      clearTimeout(late);
      clearInterval(keepAlive);
      signal.removeEventListener("abort", abandon);
    }

    function told(answer: JSONRPCMessage | undefined): void {
      over();
      const json = answer && JSON.stringify(answer);
      if (stream) {
        if (json !== undefined) stream.enqueue(bytes.encode(`event: message\ndata: ${json}\n\n`));
        stream.close();
      } else if (json === undefined) resolve(refusal(503, "The server is ending.", { message: request }));
      else resolve({ status: 200, headers: { "content-type": "application/json", ...headers }, text: json });
    }

    function abandon(): void {
      over();
      giveUp();
      if (!stream) resolve(refusal(503, "The client has gone.", { message: request }));
    }

    function begin(): void {
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          stream = controller;
        },
        cancel: abandon,
      });
      keepAlive = setInterval(() => stream?.enqueue(bytes.encode(": keepalive\n\n")), KEEP_ALIVE_MS).unref();
      resolve(new Response(body, { headers: { ...STREAM_HEADERS, ...headers } }));
    }

    const late = setTimeout(begin, SOON_MS);
    signal.addEventListener("abort", abandon, { once: true });
    const giveUp = ask(request, told);
  });
}
