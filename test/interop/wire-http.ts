// A recording HTTP proxy between a client and the server: forwards everything, and records the messages of each exchange.
import { startForwarder } from "../support/forwarder.ts";
import { type Exchange, Message, pairExchanges } from "./wire.ts";

/** The JSON-RPC messages of a body: one as JSON, or one for each event of a stream. Any other body has none. */
function parseMessages(from: "client" | "server", body: Buffer, type = "") {
  const texts = type.startsWith("text/event-stream")
    ? [...body.toString().matchAll(/^data: ?(.+)$/gm)].flatMap(([, data = ""]) => data)
    : type.startsWith("application/json")
      ? [body.toString()]
      : [];
  return texts.map((text) => ({ from, ...Message.parse(JSON.parse(text)) }));
}

export async function startHttpTap(upstream: string) {
  const recorded: (() => readonly Exchange[])[] = [];
  const url = await startForwarder([upstream], (request, body, response) => {
    const chunks: Buffer[] = [];
    response.on("data", (chunk: Buffer) => chunks.push(chunk));
    // A stream may not have ended yet.
    recorded.push(() =>
      pairExchanges([
        ...parseMessages("client", Buffer.concat(body), request.headers["content-type"]),
        ...parseMessages("server", Buffer.concat(chunks), response.headers["content-type"]),
      ]),
    );
  });
  return { url: `${url}/mcp`, exchanges: () => recorded.flatMap((read) => read()) };
}
