// The HTTP server: node:http and nothing between. Fetch-style adapters normalize the path (`..`, %2e), answer for us
// where the Host header is odd, and hide the socket, which faults have to cut.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { Admin } from "./admin.ts";
import type { App, FaultWaits } from "./app.ts";
import { BODY_DRAIN_LIMIT_MS } from "./assumptions.ts";
import type { FaultOutcome } from "./faults.ts";
import type { HostCheck } from "./http/host-check.ts";
import { parseTarget, readRequest } from "./http/request.ts";
import type { HttpResponse } from "./http/response.ts";

const ADMIN_ROOT = "/__emulator";

const isAdmin = (path: string): boolean => path === ADMIN_ROOT || path.startsWith(`${ADMIN_ROOT}/`);

function createFaultWaits(response: ServerResponse, closing: AbortSignal): FaultWaits {
  return {
    sleep: (delayMs) => sleep(delayMs, undefined, { signal: closing }),
    untilDisconnected: () =>
      new Promise((resolve) => {
        if (response.destroyed || closing.aborted) resolve();
        else response.once("close", resolve);
      }),
  };
}

function sendResponse(incoming: IncomingMessage, response: ServerResponse, httpResponse: HttpResponse): void {
  const hasUnconsumedBody = !incoming.complete;
  response.writeHead(httpResponse.status, {
    ...httpResponse.headers,
    "Content-Length": httpResponse.body.length,
    ...(hasUnconsumedBody && { Connection: "close" }),
  });
  if (!hasUnconsumedBody) {
    response.end(httpResponse.body);
    return;
  }
  // A connection that is closed on unread bytes is reset, and the reset may overtake the answer.
  response.write(httpResponse.body);
  const end = (): void => {
    clearTimeout(timer);
    response.end();
  };
  const timer = setTimeout(end, BODY_DRAIN_LIMIT_MS).unref();
  incoming.once("close", end);
  incoming.on("data", () => {});
  incoming.resume();
}

/** Half of the body under a Content-Length that promises the whole. */
function sendTruncatedResponse(response: ServerResponse, { status, headers, body }: HttpResponse): void {
  response.writeHead(status, { ...headers, "Content-Length": body.length });
  response.write(body.subarray(0, Math.floor(body.length / 2)), () => response.destroy());
}

function sendOutcome(incoming: IncomingMessage, response: ServerResponse, outcome: FaultOutcome): void {
  if (outcome.kind === "hang" || response.destroyed) return;
  if (outcome.kind === "drop" || ("isCut" in outcome && incoming.method === "HEAD")) incoming.socket.destroy();
  else if (outcome.isTruncated) sendTruncatedResponse(response, outcome.response);
  else sendResponse(incoming, response, outcome.response);
}

export interface ServerOptions {
  readonly app: App;
  readonly admin: Admin;
  /** Once it listens. */
  readonly hostCheck: () => HostCheck;
  /** Ends the waits of faults when the emulator closes. */
  readonly closing: AbortSignal;
}

export function createHttpServer({ app, admin, hostCheck, closing }: ServerOptions): Server {
  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    response.on("error", () => response.destroy());
    const { url = "/" } = incoming;
    const denial = hostCheck()(incoming);
    if (denial !== undefined) {
      const httpResponse = isAdmin(parseTarget(url).rawPath) ? admin.reject(denial.reason) : app.reject(url, denial);
      sendResponse(incoming, response, httpResponse);
      return;
    }
    const request = await readRequest(incoming);
    if (request === undefined) return;
    const outcome: FaultOutcome = isAdmin(request.target.rawPath)
      ? { kind: "answer", response: admin.handle(request) }
      : await app.handle(request, url, createFaultWaits(response, closing));
    sendOutcome(incoming, response, outcome);
  };
  const onRequest = (incoming: IncomingMessage, response: ServerResponse): void => {
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
  return createServer(options, onRequest);
}
