// Sessions of revisions before 2026-07-28 that no instance holds: what their clients said is sealed into their ids, so that each
// request may come to another instance, and none ends with one (docs/decisions/022-sealed-sessions.md).
import {
  isInitializeRequest,
  isJSONRPCRequest,
  type JSONRPCResponse,
  ProtocolErrorCode,
  type RequestId,
  SUPPORTED_PROTOCOL_VERSIONS,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import type { Seals } from "../../../auth/seals.ts";
import { reasonOf } from "../../../failure.ts";
import { json } from "../../../outside.ts";
import { isPlainRequest } from "../../messages/plain-request.ts";
import { requestAlone } from "../answer.ts";
import type { Asked } from "../exchange.ts";
import { type HttpService, plain, type Served } from "../port.ts";
import { refusal } from "../refusal.ts";
import type { Sessions } from "../sessions.ts";
import { begin } from "./begin.ts";
import type { Notice, SessionBus } from "./bus.ts";
import { type Call, createCall } from "./call.ts";
import { type Intake, takeIn } from "./intake.ts";
import type { SessionRows } from "./port.ts";
import { createReaders } from "./readers.ts";
import { createReading } from "./reading.ts";
import { openSession, type Session } from "./session.ts";
import { createStream, type Stream } from "./stream.ts";
import { createSubscribing } from "./subscribing.ts";

const SESSION_NOT_FOUND = -32001;

export interface SealedSessionsParts {
  /** What this caller is served. */
  readonly service: HttpService;
  /** Whose sessions these are: those of another caller, or of his in another team, are not found. */
  readonly caller: string;
  readonly seals: Seals;
  /** One for the process. */
  readonly bus: SessionBus;
  readonly rows: SessionRows;
}

const idsIn = (messages: readonly unknown[]): readonly RequestId[] =>
  messages.flatMap((message) => (isPlainRequest(message) || isJSONRPCRequest(message) ? [message.id] : []));

const notFound = (body: unknown): Served => {
  const reason = "Session not found: it has ended. Initialize a new one, without the Mcp-Session-Id header.";
  return plain(refusal(404, reason, { code: SESSION_NOT_FOUND, message: body }));
};

export function createSealedSessions({ service, caller, seals, bus, rows }: SealedSessionsParts): Sessions {
  const { log } = service;
  const calls = new Map<string, Set<Call>>();
  const streams = new Map<string, Stream>();
  const readers = createReaders(service);

  const callsOf = (session: string): Call[] => [...(calls.get(session) ?? [])];

  function warn(work: Promise<unknown>, what: string): void {
    work.catch((error: unknown) => log.warn({ reason: reasonOf(error) }, what));
  }

  /** Of calls: whether one of them is here. */
  function hear(notice: Notice): boolean {
    const { session } = notice;
    if (notice.kind === "subscribed") streams.get(session)?.refresh();
    else if (notice.kind === "stream") streams.get(session)?.end();
    else if (notice.kind === "ended") warn(forget(session), "a session did not end well");
    // An id that a lost connection has left is free again: then two calls may bear it.
    else return callsOf(session).filter((call) => call.hear(notice)).length > 0;
    return false;
  }

  async function forget(session: string): Promise<void> {
    streams.get(session)?.end();
    readers.forget(session);
    await Promise.all(callsOf(session).map((call) => call.end()));
  }

  const { send, leave } = bus.join({
    hear,
    missed() {
      for (const stream of streams.values()) stream.refresh();
    },
  });

  async function keepAnswer(session: string, question: string, message: JSONRPCResponse): Promise<void> {
    if (await rows.answer(session, question, JSON.stringify(message)))
      await send({ kind: "answered", session, question });
  }

  /** What is for a call is told here, or else the other instances; `elsewhere` gets what has to be waited for. */
  function intakeOf({ id: session }: Session, elsewhere: (work: Promise<void>) => void): Intake {
    function tell(notice: Notice): void {
      if (!hear(notice)) elsewhere(send(notice));
    }
    return {
      answered(question, message) {
        if (!callsOf(session).some((call) => call.answer(question, message)))
          elsewhere(keepAnswer(session, question, message));
      },
      cancelled: (requestId) => tell({ kind: "cancelled", session, requestId }),
      progress: (question, params) => tell({ kind: "progress", session, question, params }),
    };
  }

  function add(session: Session, create: (onEnd: () => void) => Call): Call {
    const own = calls.get(session.id) ?? new Set();
    calls.set(session.id, own);
    const call = create(() => {
      own.delete(call);
      if (own.size === 0 && calls.get(session.id) === own) calls.delete(session.id);
    });
    own.add(call);
    return call;
  }

  /** A POST that asks for nothing. */
  async function takeNotifications(session: Session, asked: Asked, body: unknown): Promise<Served> {
    const told: Promise<void>[] = [];
    const intake = intakeOf(session, (work) => told.push(work));
    const transport = new WebStandardStreamableHTTPServerTransport();
    transport.onmessage = (message) => void takeIn(message, intake);
    const response = await transport.handleRequest(asked.request(), { parsedBody: body });
    try {
      await Promise.all(told);
    } catch (error) {
      log.warn({ reason: reasonOf(error) }, "other instances could not be told");
      return plain(refusal(503, "The server that waits for this could not be told; send it again.", { message: body }));
    }
    return plain(response);
  }

  function callOf(session: Session, asked: Asked, body: unknown, ids: readonly RequestId[]): Call {
    const { "mcp-protocol-version": version } = asked.headers;
    const isKnown = version === undefined || SUPPORTED_PROTOCOL_VERSIONS.includes(String(version));
    const request = isKnown ? requestAlone(body, asked.headers, service.answersAlone) : undefined;
    if (request) return add(session, (onEnd) => createReading({ service, session, readers, request, onEnd }));
    const intake = intakeOf(session, (work) => warn(work, "other instances could not be told"));
    async function changed(): Promise<void> {
      const notice = { kind: "subscribed", session: session.id } as const;
      hear(notice);
      await send(notice);
    }
    return add(session, (onEnd) =>
      createCall({
        service,
        session,
        ids,
        subscriptions: createSubscribing({ service, session, rows, changed }),
        rows,
        route: (message) => takeIn(message, intake),
        onEnd,
      }),
    );
  }

  async function post(session: Session, asked: Asked, body: unknown): Promise<Served> {
    const messages = [body].flat();
    if (messages.some((message) => isInitializeRequest(message))) {
      const reason = "This session has begun already; a new one begins without the Mcp-Session-Id header.";
      return plain(refusal(400, reason, { code: ProtocolErrorCode.InvalidRequest, message: body }));
    }
    const ids = idsIn(messages);
    if (ids.length === 0) return await takeNotifications(session, asked, body);
    const isTaken = (id: RequestId) => callsOf(session.id).some((call) => call.awaits(id));
    const taken = ids.find((id, at) => isTaken(id) || ids.indexOf(id) !== at);
    if (taken !== undefined) {
      // With two answers under one id the client could not know which has arrived.
      const reason = `Another request of this session with the id ${json(taken)} is not answered yet.`;
      return plain(refusal(400, reason, { code: ProtocolErrorCode.InvalidRequest, message: body }));
    }
    // Nothing may be awaited between that look and this entry.
    const call = callOf(session, asked, body, ids);
    try {
      return await call.serve(asked, body);
    } catch (error) {
      await call.end();
      throw error;
    }
  }

  async function listen(session: Session, asked: Asked): Promise<Served> {
    const stream = createStream({
      service,
      session,
      rows,
      onEnd() {
        if (streams.get(session.id) === stream) streams.delete(session.id);
      },
    });
    const served = await stream.serve(asked);
    if (served.kind !== "stream") return served;
    // The latest takes the place of any other: a client that has lost its stream comes for a new one before the server knows.
    const earlier = streams.get(session.id);
    streams.set(session.id, stream);
    earlier?.end();
    warn(send({ kind: "stream", session: session.id }), "other instances could not be told");
    return served;
  }

  async function end(session: Session): Promise<Served> {
    await send({ kind: "ended", session: session.id });
    await Promise.all([forget(session.id), rows.end(session.id)]);
    return plain(new Response(null, { status: 204 }));
  }

  return {
    async serve(asked, body) {
      const id = asked.headers["mcp-session-id"];
      if (id === undefined) {
        if ([body].flat().some((message) => isInitializeRequest(message)))
          return await begin(asked, body, { service, caller, seals });
        const reason = "The Mcp-Session-Id header is required: a session begins with initialize.";
        return plain(refusal(400, reason, { message: body }));
      }
      const session = await openSession(String(id), caller, seals);
      if (!session || bus.isEnded(session.id)) return notFound(body);
      if (asked.method === "GET") return await listen(session, asked);
      return asked.method === "DELETE" ? await end(session) : await post(session, asked, body);
    },

    endStreams() {
      for (const stream of streams.values()) stream.end();
    },

    async close() {
      leave();
      for (const stream of streams.values()) stream.end();
      await Promise.all([...[...calls.values()].flatMap((own) => [...own]).map((call) => call.end()), readers.close()]);
    },
  };
}
