// Instances of a deployment in this process, which share rows and notices and nothing else, and a forwarder that gives each request
// to the next one: no two messages of a session come to the same.
import { EventEmitter } from "node:events";
import {
  createServer,
  type IncomingMessage,
  request as outgoingRequest,
  type Server,
  type ServerResponse,
} from "node:http";
import { onTestFinished } from "vitest";
import { createSeals } from "../../../src/auth/seals.ts";
import { readSecretKeys } from "../../../src/auth/secret-keys.ts";
import { askedBy, goneSignal, send } from "../../../src/mcp/http/exchange.ts";
import type { HttpService } from "../../../src/mcp/http/port.ts";
import { createSessionBus } from "../../../src/mcp/http/sealed/bus.ts";
import type { Notices, SessionRows } from "../../../src/mcp/http/sealed/port.ts";
import { createSealedSessions } from "../../../src/mcp/http/sealed/sessions.ts";
import type { Sessions } from "../../../src/mcp/http/sessions.ts";

/** Who calls, in these tests alone: a deployment reads it from a token. */
export const CALLER = "x-caller";
const KEYS = readSecretKeys(`first ${Buffer.alloc(32, 7).toString("base64")}`);
export const sealsForTest = createSeals(KEYS);

export interface TestNotices extends Notices {
  /** Until `find` nobody hears any. */
  lose(): void;
  find(): void;
}

const MISSED = "missed";

/** What one says, all hear, a turn of the event loop later, as over PostgreSQL. */
export function noticesForTest(): TestNotices {
  const emitter = new EventEmitter().setMaxListeners(0);
  let isLost = false;
  return {
    lose() {
      isLost = true;
    },
    find() {
      isLost = false;
      emitter.emit(MISSED);
    },
    async send(channel, text) {
      if (!isLost) setImmediate(() => emitter.emit(channel, text));
    },
    on(channel, hear, missed) {
      emitter.on(channel, hear).on(MISSED, missed);
      return () => void emitter.off(channel, hear).off(MISSED, missed);
    },
  };
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("listens on no port");
  return `http://127.0.0.1:${address.port}/mcp`;
}

async function bodyOf(incoming: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  return incoming.method === "POST" ? JSON.parse(Buffer.concat(chunks).toString()) : undefined;
}

export interface InstanceParts {
  serviceOf(caller: string): HttpService;
  readonly rows: SessionRows;
  readonly notices: Notices;
}

export interface Instance {
  readonly url: string;
  endStreams(): void;
  close(): Promise<void>;
}

export async function startInstance({ serviceOf, rows, notices }: InstanceParts): Promise<Instance> {
  const houses = new Map<string, { readonly service: HttpService; readonly sessions: Sessions }>();
  const bus = createSessionBus(notices, serviceOf("one").log);

  function houseOf(caller: string) {
    const service = houses.get(caller)?.service ?? serviceOf(caller);
    const house = houses.get(caller) ?? {
      service,
      sessions: createSealedSessions({ service, caller, seals: sealsForTest, bus, rows }),
    };
    houses.set(caller, house);
    return house;
  }

  async function exchange(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const signal = goneSignal(incoming, outgoing);
    const { service, sessions } = houseOf(String(incoming.headers[CALLER] ?? "one"));
    const served = await sessions.serve(askedBy(incoming, "http://localhost/mcp", signal), await bodyOf(incoming));
    const options = {
      redact: service.redact,
      signal,
      isLast: () => false,
      headers: () => undefined,
      stalledTimeoutMs: 60_000,
    };
    await served.over(await send(served.response, incoming, outgoing, options));
  }

  const server = createServer((incoming, outgoing) => {
    exchange(incoming, outgoing).catch(() => outgoing.destroyed || outgoing.writeHead(500).end());
  });
  const url = await listen(server);
  const sessions = () => [...houses.values()].map((house) => house.sessions);
  return {
    url,
    endStreams() {
      for (const each of sessions()) each.endStreams();
    },
    async close() {
      await Promise.all(sessions().map((each) => each.close()));
      bus.close();
      server.close();
      server.closeAllConnections();
    },
  };
}

const isRefused = (error: NodeJS.ErrnoException): boolean => error.code === "ECONNREFUSED";

/**
 * Gives each request to the next of these that can be reached, as balancers do: what was sent once is not sent again. One that ends in the
 * middle is cut at its other end.
 */
export async function startForwarder(urls: readonly string[]): Promise<{ readonly url: string; close(): void }> {
  let turn = 0;
  function forward(incoming: IncomingMessage, body: Buffer, outgoing: ServerResponse, tries = urls.length): void {
    const target = new URL(urls[turn++ % urls.length] ?? "");
    const { method, headers } = incoming;
    const onwards = outgoingRequest(target, { method, headers, agent: false }, (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers).flushHeaders();
      response.on("error", () => outgoing.destroy()).pipe(outgoing);
    });
    onwards.on("error", (error) => {
      if (isRefused(error) && tries > 1) forward(incoming, body, outgoing, tries - 1);
      else outgoing.destroy();
    });
    outgoing.on("close", () => onwards.destroy());
    onwards.end(body);
  }
  const server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming
      .on("data", (chunk: Buffer) => chunks.push(chunk))
      .on("end", () => forward(incoming, Buffer.concat(chunks), outgoing));
  });
  const url = await listen(server);
  return {
    url,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

export interface Deployment {
  /** Of the forwarder. */
  readonly url: string;
  readonly instances: readonly Instance[];
}

/** An instance for each of these, and a forwarder, for the running test. */
export async function deploymentForTest(parts: readonly InstanceParts[]): Promise<Deployment> {
  const instances = await Promise.all(parts.map(startInstance));
  const forwarder = await startForwarder(instances.map(({ url }) => url));
  onTestFinished(async () => {
    forwarder.close();
    for (const instance of instances) await instance.close();
  });
  return { url: forwarder.url, instances };
}
