// The first request of a sealed session: the server's answer to `initialize`, and an id that holds what the client said.
import {
  type InitializeRequest,
  isInitializeRequest,
  type JSONRPCMessage,
  ProtocolErrorCode,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import * as z from "zod/v4";
import type { Seals } from "../../../auth/seals.ts";
import { reasonOf } from "../../../failure.ts";
import type { Asked } from "../exchange.ts";
import { type HttpService, plain, type Served } from "../port.ts";
import { refusal } from "../refusal.ts";
import { sealSession, sessionOf } from "./session.ts";

const Began = z.object({ result: z.object({ protocolVersion: z.string() }) });

export interface BeginParts {
  readonly service: HttpService;
  readonly caller: string;
  readonly seals: Seals;
}

/** Hears the answer as it leaves. */
class BeginTransport extends WebStandardStreamableHTTPServerTransport {
  onanswer: (message: JSONRPCMessage) => void = () => undefined;

  override async send(...[message, options]: Parameters<WebStandardStreamableHTTPServerTransport["send"]>) {
    await super.send(message, options);
    if ("result" in message || "error" in message) this.onanswer(message);
  }
}

const initializeIn = (body: unknown): InitializeRequest["params"] | undefined =>
  [body].flat().find((message) => isInitializeRequest(message))?.params;

export async function begin(asked: Asked, body: unknown, { service, caller, seals }: BeginParts): Promise<Served> {
  const params = initializeIn(body);
  const subscriptions = service.createSubscriptions();
  const server = await service.createServer({ subscriptions, isFirst: true }, "legacy");
  const transport = new BeginTransport();
  transport.onerror = (error) => service.log.debug({ reason: reasonOf(error) }, "protocol");
  await server.connect(transport);
  const answered = new Promise<JSONRPCMessage>((resolve) => {
    transport.onanswer = resolve;
  });
  async function over(): Promise<void> {
    subscriptions.close();
    await server.close();
  }
  const response = await transport.handleRequest(asked.request(), { parsedBody: body });
  if (response.status !== 200 || !params) {
    await over();
    return plain(response);
  }
  const { data: began } = Began.safeParse(await answered);
  const session = began && sessionOf(params, began.result.protocolVersion);
  if (began && !session) {
    await over();
    const reason = "The capabilities and clientInfo of initialize are too long for a session's id.";
    return plain(refusal(400, reason, { code: ProtocolErrorCode.InvalidParams, message: body }));
  }
  if (session) response.headers.set("mcp-session-id", await sealSession(session, caller, seals));
  return { response, kind: "call", over };
}
