// The HTTP server: node:http and nothing between. Fetch-style adapters normalize the path (`..`, %2e), answer for us
// where the Host header is odd, and hide the socket, which faults have to cut.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { Admin } from "./admin.ts";
import type { App, Patience } from "./app.ts";
import { LINGER_MS } from "./assumptions.ts";
import type { FaultOutcome } from "./faults.ts";
import type { Answer } from "./http/answer.ts";
import type { HostCheck } from "./http/host-check.ts";
import { readRequest, readTarget } from "./http/request.ts";

const ADMIN_ROOT = "/__emulator";

const isAdmin = (path: string): boolean => path === ADMIN_ROOT || path.startsWith(`${ADMIN_ROOT}/`);

function patienceWith(response: ServerResponse, closing: AbortSignal): Patience {
  return {
    wait: (delayMs) => sleep(delayMs, undefined, { signal: closing }),
    gone: () =>
      new Promise((resolve) => {
        if (response.destroyed || closing.aborted) resolve();
        else response.once("close", resolve);
      }),
  };
}

function send(incoming: IncomingMessage, response: ServerResponse, answer: Answer): void {
  const hasUnconsumedBody = !incoming.complete;
  response.writeHead(answer.status, {
    ...answer.headers,
    "Content-Length": answer.body.length,
    ...(hasUnconsumedBody && { Connection: "close" }),
  });
  if (!hasUnconsumedBody) {
    response.end(answer.body);
    return;
  }
  // A connection that is closed on unread bytes is reset, and the reset may overtake the answer.
  response.write(answer.body);
  const end = (): void => {
    clearTimeout(timer);
    response.end();
  };
  const timer = setTimeout(end, LINGER_MS).unref();
  incoming.once("close", end);
  incoming.on("data", () => {});
  incoming.resume();
}

/** Half of the body under a Content-Length that promises the whole. */
function sendCut(response: ServerResponse, { status, headers, body }: Answer): void {
  response.writeHead(status, { ...headers, "Content-Length": body.length });
  response.write(body.subarray(0, Math.floor(body.length / 2)), () => response.destroy());
}

function deliver(incoming: IncomingMessage, response: ServerResponse, outcome: FaultOutcome): void {
  if (outcome.kind === "hang" || response.destroyed) return;
  if (outcome.kind === "drop" || ("isCut" in outcome && incoming.method === "HEAD")) incoming.socket.destroy();
  else if (outcome.isCut) sendCut(response, outcome.answer);
  else send(incoming, response, outcome.answer);
}

export interface ServerParts {
  readonly app: App;
  readonly admin: Admin;
  /** Once it listens. */
  readonly hostCheck: () => HostCheck;
  /** Ends the waits of faults when the emulator closes. */
  readonly closing: AbortSignal;
}

export function makeServer({ app, admin, hostCheck, closing }: ServerParts): Server {
  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    response.on("error", () => response.destroy());
    const { url = "/" } = incoming;
    const denial = hostCheck()(incoming);
    if (denial !== undefined) {
      const answer = isAdmin(readTarget(url).rawPath) ? admin.deny(denial.reason) : app.deny(url, denial);
      send(incoming, response, answer);
      return;
    }
    const request = await readRequest(incoming);
    if (request === undefined) return;
    const outcome: FaultOutcome = isAdmin(request.target.rawPath)
      ? { kind: "answer", answer: admin.answer(request) }
      : await app.handle(request, url, patienceWith(response, closing));
    deliver(incoming, response, outcome);
  };
  const listen = (incoming: IncomingMessage, response: ServerResponse): void => {
    // Only a wait that the closing emulator ends rejects, and then there is nobody to answer.
    handle(incoming, response).catch(() => incoming.socket.destroy());
  };
  // Node would answer a missing Host itself, without a body; the frame refuses it in the API's words.
  const options = {
    requireHostHeader: false,
    keepAliveTimeout: 30_000,
    headersTimeout: 30_000,
    requestTimeout: 60_000,
  };
  return createServer(options, listen);
}
