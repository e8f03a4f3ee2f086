// One POST of a sealed session that asks for something: a server of its own, which is first told `initialize` again with what is
// sealed. Its questions to the person bear ids that are unique among all instances, since their answers come by another POST.
import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import {
  type JSONRPCMessage,
  type JSONRPCRequest,
  type JSONRPCResponse,
  parseJSONRPCMessage,
  type RequestId,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { reasonOf } from "../../../failure.ts";
import { withLegacyCode } from "../../messages/legacy-codes.ts";
import type { Subscriptions } from "../../resources/subscriptions.ts";
import type { Asked } from "../exchange.ts";
import type { HttpService, Served } from "../port.ts";
import type { Notice } from "./bus.ts";
import { createQuestion } from "./intake.ts";
import type { SessionRows } from "./port.ts";
import { initializeAgain, type Session } from "./session.ts";

/** A notice may be lost, or not be sent; then an answer is found this much later. */
const LOOK_MS = 5_000;
/** Longer than the SDK waits for a person. */
const ANSWER_MS = 660_000;
const AGAIN = "initialize again";

type Send = WebStandardStreamableHTTPServerTransport["send"];

/** What leaves, leaves as this gives it; undefined stays here. */
type Outward = (message: JSONRPCMessage) => JSONRPCMessage | undefined | Promise<JSONRPCMessage | undefined>;

class CallTransport extends WebStandardStreamableHTTPServerTransport {
  readonly #outward: Outward;
  readonly #related: () => RequestId | undefined;

  /** `related`: the request on whose stream goes what is about none; there is no other stream here. */
  constructor(outward: Outward, related: () => RequestId | undefined) {
    super();
    this.#outward = outward;
    this.#related = related;
  }

  override async send(message: Parameters<Send>[0], options?: Parameters<Send>[1]): Promise<void> {
    const outward = await this.#outward(message);
    const relatedRequestId = options?.relatedRequestId ?? this.#related();
    if (outward) await super.send(outward, { ...options, ...(relatedRequestId !== undefined && { relatedRequestId }) });
  }
}

export interface Call {
  /** Whether a client still waits here for the answer to a request of this id. */
  awaits(id: RequestId): boolean;
  serve(asked: Asked, body: unknown): Promise<Served>;
  /** Whether this was for it. */
  hear(notice: Notice): boolean;
  /** Takes the answer to a question of its own. */
  answer(question: string, message: JSONRPCResponse): boolean;
  /** Aborts it. */
  end(): Promise<void>;
}

export interface CallParts {
  readonly service: HttpService;
  readonly session: Session;
  readonly ids: readonly RequestId[];
  readonly subscriptions: Subscriptions;
  readonly rows: SessionRows;
  /** Takes what is not for this call's server; says whether it was. */
  route(message: JSONRPCMessage): boolean;
  onEnd(): void;
}

export function createCall({ service, session, ids, subscriptions, rows, route, onEnd }: CallParts): Call {
  const open = new Set(ids);
  /** The server's own ids of its questions, by those that the client knows. */
  const questions = new Map<string, RequestId>();
  const transport = new CallTransport(outward, () => [...open][0]);
  let toServer: (message: JSONRPCMessage) => void = () => undefined;
  let onAgain: ((answer: JSONRPCMessage | undefined) => void) | undefined;
  let server: Awaited<ReturnType<HttpService["createServer"]>> | undefined;
  let looking: NodeJS.Timeout | undefined;
  let isOver = false;
  let isEnded = false;
  let hasServed: () => void = () => undefined;
  /** From then on the server knows of its requests. */
  const served = new Promise<void>((resolve) => {
    hasServed = resolve;
  });

  async function asked(request: JSONRPCRequest): Promise<JSONRPCRequest | undefined> {
    if (isOver) throw new Error("the client has gone, and cannot be asked");
    const question = createQuestion();
    questions.set(question, request.id);
    looking ??= setInterval(look, LOOK_MS).unref();
    try {
      await rows.ask(session.id, question, Date.now() + ANSWER_MS);
    } catch (error) {
      forget(question);
      throw error;
    }
    if (!questions.has(question)) {
      withdraw(question);
      return undefined;
    }
    const meta = request.params?._meta;
    const isTold = meta?.progressToken !== undefined;
    return {
      ...request,
      id: question,
      ...(isTold && { params: { ...request.params, _meta: { ...meta, progressToken: question } } }),
    };
  }

  function withdraw(question: string): void {
    rows
      .withdraw(session.id, question)
      .catch((error: unknown) => service.log.info({ reason: reasonOf(error) }, "a question was not withdrawn"));
  }

  /** A question is asked no more: answered, given up or never asked. */
  function forget(question: string): void {
    questions.delete(question);
    if (questions.size > 0) return;
    clearInterval(looking);
    looking = undefined;
  }

  function outward(message: JSONRPCMessage): ReturnType<Outward> {
    if ("method" in message) {
      if ("id" in message) return asked(message);
      if (message.method !== "notifications/cancelled") return message;
      const [question] = [...questions].find(([, id]) => id === message.params?.["requestId"]) ?? [];
      if (question === undefined) return undefined;
      forget(question);
      withdraw(question);
      return { ...message, params: { ...message.params, requestId: question } };
    }
    const { id } = message;
    if (onAgain) {
      onAgain(message);
      return undefined;
    }
    if (id !== undefined) {
      open.delete(id);
      if (isOver && open.size === 0) close();
    }
    return withLegacyCode(message);
  }

  function take(question: string, message: JSONRPCMessage): boolean {
    const id = questions.get(question);
    if (id === undefined) return false;
    forget(question);
    toServer({ ...message, id });
    return true;
  }

  async function takeFromRows(question: string): Promise<void> {
    const json = await rows.takeAnswer(session.id, question);
    if (json !== undefined) take(question, parseJSONRPCMessage(JSON.parse(json)));
  }

  function fetchAnswer(question: string): void {
    takeFromRows(question).catch((error: unknown) =>
      service.log.warn({ reason: reasonOf(error) }, "an answer of a person could not be fetched"),
    );
  }

  function look(): void {
    for (const question of questions.keys()) fetchAnswer(question);
  }

  async function cancel(requestId: RequestId): Promise<void> {
    await served;
    toServer({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } });
    // Its questions are taken back first.
    await turnOfTheLoop();
    // What is cancelled stays unanswered: then nothing more comes on its stream.
    if (open.size === 0) await end();
  }

  async function end(): Promise<void> {
    if (isEnded) return;
    isEnded = true;
    for (const question of [...questions.keys()]) {
      forget(question);
      withdraw(question);
    }
    onAgain?.(undefined);
    hasServed();
    onEnd();
    subscriptions.close();
    await server?.close();
  }

  /** Ends it where nobody waits for that. */
  function close(): void {
    end().catch((error: unknown) => service.log.warn({ reason: reasonOf(error) }, "a call did not end well"));
  }

  async function connect(): Promise<void> {
    server = await service.createServer({ subscriptions }, "legacy");
    transport.onerror = (error) => service.log.debug({ reason: reasonOf(error) }, "protocol");
    await server.connect(transport);
    // It was ended before it began: the transport says that there is no such session.
    if (isEnded) return await server.close();
    const { onmessage } = transport;
    toServer = (message) => onmessage?.(message);
    // What its log lines call the session; clients know it by another name.
    transport.sessionId = session.id;
    const told = new Promise<JSONRPCMessage | undefined>((resolve) => {
      onAgain = resolve;
    });
    const again = () => toServer(initializeAgain(session, AGAIN));
    if (service.telemetry) service.telemetry.aside(again);
    else again();
    const answer = await told;
    onAgain = undefined;
    if (answer && !("result" in answer)) throw new Error("a server refused to begin its session again");
    transport.onmessage = (message, extra) => {
      if (!route(message)) onmessage?.(message, extra);
    };
  }

  return {
    awaits: (id) => !isOver && open.has(id),
    async serve({ request: made }, body) {
      await connect();
      const response = await transport.handleRequest(made(), { parsedBody: body });
      response.headers.delete("mcp-session-id");
      hasServed();
      // Refused, the server has seen none of them.
      if (response.status !== 200) open.clear();
      return {
        response,
        kind: "call",
        async over() {
          isOver = true;
          // A lost connection is no cancellation: what is under way goes on, and nobody hears its answer.
          if (open.size === 0) await end();
        },
      };
    },
    hear(notice) {
      if (notice.kind === "cancelled") {
        if (!open.delete(notice.requestId)) return false;
        cancel(notice.requestId).catch((error: unknown) =>
          service.log.warn({ reason: reasonOf(error) }, "a call was not cancelled"),
        );
        return true;
      }
      if (notice.kind === "answered") {
        if (!questions.has(notice.question)) return false;
        fetchAnswer(notice.question);
        return true;
      }
      if (notice.kind !== "progress") return false;
      const progressToken = questions.get(notice.question);
      if (progressToken === undefined) return false;
      toServer({ jsonrpc: "2.0", method: "notifications/progress", params: { ...notice.params, progressToken } });
      return true;
    },
    answer(question, message) {
      const isOwn = take(question, message);
      if (isOwn) withdraw(question);
      return isOwn;
    },
    end,
  };
}
