// Serves HTTP directly with node:http. Fetch-style adapters normalize the path (`..`, %2e), answer requests with an unusual Host header
// themselves, and hide the socket, which faults have to destroy.
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { endResponse } from "../core/read-body.ts";
import type { Admin } from "./admin.ts";
import type { App, FaultWaits } from "./app.ts";
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
  response.writeHead(httpResponse.status, {
    ...httpResponse.headers,
    "Content-Length": httpResponse.body.length,
    ...(!incoming.complete && { Connection: "close" }),
  });
  endResponse(incoming, response, httpResponse.body);
}

/** Sends half of the body with the Content-Length of the complete body, and destroys the connection. */
function sendTruncatedResponse(response: ServerResponse, { status, headers, body }: HttpResponse): void {
  response.writeHead(status, { ...headers, "Content-Length": body.length });
  response.write(body.subarray(0, Math.floor(body.length / 2)), () => response.destroy());
}

function sendOutcome(incoming: IncomingMessage, response: ServerResponse, outcome: FaultOutcome): void {
  if (outcome.kind === "hang" || response.destroyed) return;
  if (outcome.kind === "drop" || ("isTruncated" in outcome && incoming.method === "HEAD")) incoming.socket.destroy();
  else if (outcome.isTruncated) sendTruncatedResponse(response, outcome.response);
  else sendResponse(incoming, response, outcome.response);
}

export function createRequestHandler(
  app: App,
  admin: Admin,
  checkHost: HostCheck,
  closing: AbortSignal,
): RequestListener {
  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    response.on("error", () => response.destroy());
    const { url = "/" } = incoming;
    const denial = checkHost(incoming);
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
  return (incoming, response) => {
    // A rejection means that the emulator closed during a fault's wait; the client cannot receive an answer then.
    handle(incoming, response).catch(() => incoming.socket.destroy());
  };
}

/** Node would answer a missing Host itself, without a body; the app refuses it with the API's error body. */
export const createHttpServer = (): Server =>
  createServer({ requireHostHeader: false, keepAliveTimeout: 30_000, headersTimeout: 30_000, requestTimeout: 60_000 });
