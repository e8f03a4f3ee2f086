// The HTTP front end of a deployment, behind a balancer that ends TLS: every request names its caller by an access token, and is served by
// the MCP endpoint of that caller.
import type { IncomingMessage } from "node:http";
import { isJSONRPCNotification, isJSONRPCRequest } from "@modelcontextprotocol/server";
import { isJsonObject } from "../../contract/json.ts";
import { reasonOf } from "../../failure.ts";
import type { Refusal } from "../../hooks.ts";
import type { AtDoor, Door } from "../../mcp/http/door.ts";
import { createHouse, type House } from "../../mcp/http/house.ts";
import { type HttpServer, type ListenOptions, startServer } from "../../mcp/http/http-server.ts";
import { LISTENER_LIMITS, type ListenerLimits } from "../../mcp/http/listener.ts";
import { type Asking, type HttpService, messagesIn, plain, type Served } from "../../mcp/http/port.ts";
import { HEALTH_PATH, health, READY_PATH, ready } from "../../mcp/http/probes.ts";
import { ending, refusal, tooMany } from "../../mcp/http/refusal.ts";
import { MCP_PATH, pathOf, routeMcp } from "../../mcp/http/routes.ts";
import type { Redact } from "../../mcp/messages/redact.ts";
import type { Log } from "../../mcp/runtime.ts";
import type { Telemetry } from "../../telemetry/port.ts";
import type { CallersTrace } from "../audit.ts";
import type { Caller, Right } from "../caller.ts";
import type { AccessTokens } from "../oauth/access-tokens.ts";
import { ProviderUnavailable } from "../oauth/provider.ts";
import { createEdge, type EdgeOptions } from "./edge.ts";
import { type CallerLimits, createCallerLimits, type Entered, type Over } from "./limits.ts";
import {
  createSignIn,
  createWellKnown,
  providerUnavailable,
  type Resource,
  resourceAt,
  rootResource,
} from "./sign-in.ts";
import { createStateless } from "./stateless.ts";

/** What the clients of one caller are served. */
export interface CallerService extends HttpService {
  /** The right that a message requires. */
  rightFor(message: Asking): Right;
  /** The caller asked for something that they have no right to. */
  onRefusal?(refusal: Refusal): void;
}

/** Serves other paths than /mcp; undefined if it has no such path. `callerOf`: checks the token of the request. */
export type ExtraRoutes = (
  request: IncomingMessage,
  at: { readonly path: string; readonly signal: AbortSignal; callerOf(): Promise<Caller | Response> },
) => Promise<Served | undefined>;

export interface FrontendOptions extends EdgeOptions {
  /**
   * The service of this caller at /mcp, or at /mcp/{team}: the same object while nothing has changed. It is called for each request.
   * Undefined if there is no such path, as far as this caller may know. Rejects if that cannot be decided now.
   */
  serviceOf(caller: Caller, team: string | undefined): Promise<CallerService | undefined>;
  /** `listener` is called with each service that was replaced: its streams end, and their clients connect again. */
  onRetired?(listener: (service: CallerService) => void): void;
  readonly extraRoutes?: ExtraRoutes;
  readonly tokens: AccessTokens;
  /** An audience that is accepted at every path, in addition to the path's own URL. */
  readonly audience: string;
  readonly scopes: Readonly<Record<Right, string>>;
  readonly callerLimits: CallerLimits;
  /** Resolves with facts for /readyz if calls can be served, the identity provider aside. Rejects with the reason otherwise. */
  readonly readiness: () => Promise<object>;
  readonly redact: Redact;
  readonly log: Log;
  readonly telemetry?: Telemetry | undefined;
  readonly trace?: CallersTrace;
  /** This caller may not even read. `team`: of the path. */
  readonly onRefusal?: (caller: Caller, team: string | undefined, refusal: Refusal) => void;
  monotonicMs(): number;
}

const RETRY_AFTER_SECONDS = 5;
/** The longest delay of a timer. */
const MAX_TIMER_MS = 2_147_483_647;

const overLimit = ({ why, retryAfterSeconds: seconds }: Over, message: unknown): Response =>
  refusal(429, `This caller has ${why}; call again in ${seconds} s.`, {
    message,
    headers: { "retry-after": String(seconds) },
  });

/** What a body asks for: a stream, or a number of calls. `notes`: its notifications, except cancellations, which are never refused. */
function requestedBy(body: unknown) {
  const messages = [body].flat();
  const requests = messages.filter((message) => isJSONRPCRequest(message));
  const notes = messages.filter(
    (message) => isJSONRPCNotification(message) && message.method !== "notifications/cancelled",
  ).length;
  const isStream = requests.some(({ method }) => method === "subscriptions/listen");
  return { calls: isStream ? 0 : requests.length, isStream, notes };
}

/** The trace context in a message of 2026-07-28; older revisions have it only in the header. */
function traceparentIn(body: unknown): unknown {
  const [first] = [body].flat();
  const params = isJsonObject(first) ? first["params"] : undefined;
  const meta = isJsonObject(params) ? params["_meta"] : undefined;
  return isJsonObject(meta) ? meta["traceparent"] : undefined;
}

/** Ends a stream when the token that opened it expires: its client connects again with a new token. */
function endAtExpiry({ response, kind }: Served, { expiresAt }: Caller, onEnd: (end: () => void) => void) {
  if (kind !== "stream" || !(response instanceof Response) || !response.body) return response;
  const { status, headers, body } = response;
  const ending = new TransformStream<Uint8Array, Uint8Array>({
    start(controller) {
      const delayMs = Math.min(Math.max(0, expiresAt - Date.now()), MAX_TIMER_MS);
      const timer = setTimeout(() => controller.terminate(), delayMs).unref();
      onEnd(() => clearTimeout(timer));
    },
  });
  return new Response(body.pipeThrough(ending), { status, headers });
}

/** The MCP endpoints with requests in flight, one for each service. */
function createEndpoints() {
  const endpoints = new Map<HttpService, { readonly house: House; requests: number }>();
  const all = () => [...endpoints.values()].map(({ house }) => house);
  return {
    /** `leave`: the request has ended. */
    enter(service: HttpService) {
      const endpoint = endpoints.get(service) ?? { house: createHouse(service, createStateless(service)), requests: 0 };
      endpoints.set(service, endpoint);
      endpoint.requests += 1;
      const leave = (): void => {
        endpoint.requests -= 1;
        if (endpoint.requests === 0) endpoints.delete(service);
      };
      return { house: endpoint.house, leave };
    },
    /** Calls continue. */
    endStreamsOf: async (service: HttpService) => await endpoints.get(service)?.house.endStreams(),
    endStreams: async () => void (await Promise.all(all().map((house) => house.endStreams()))),
    close: async () => void (await Promise.all(all().map((house) => house.close()))),
  };
}

/** A request whose caller is known. */
interface Authenticated {
  readonly caller: Caller;
  readonly resource: Resource;
  readonly service: CallerService;
}

function createFrontend(options: FrontendOptions): Door {
  const { tokens, scopes, publicOrigin, readiness, redact, log, telemetry, trace } = options;
  const edge = createEdge(options);
  const signIn = createSignIn(options);
  const limits = createCallerLimits(options.callerLimits, options.monotonicMs);
  const endpoints = createEndpoints();
  const wellKnown = createWellKnown({ tokens, scopes: Object.values(scopes), publicOrigin });

  options.onRetired?.((service) => {
    endpoints
      .endStreamsOf(service)
      .catch((error: unknown) => log.warn({ reason: reasonOf(error) }, "a stream did not end well"));
  });

  async function document(request: IncomingMessage, path: string): Promise<Response | undefined> {
    try {
      return await wellKnown(request.method ?? "", path);
    } catch (error) {
      if (error instanceof ProviderUnavailable) return providerUnavailable(error, log);
      throw error;
    }
  }

  async function extra(request: IncomingMessage, { signal, phase }: AtDoor, path: string, address: string) {
    if (phase() === "ending") return plain(ending());
    // A token for any resource is accepted: the link itself names its team.
    const resource = rootResource(publicOrigin);
    const callerOf = async () => readerOf(await signIn.callerAtAny(request, address, resource), resource);
    return await options.extraRoutes?.(request, { path, signal, callerOf });
  }

  async function readyNow(): Promise<object> {
    const [facts] = await Promise.all([readiness(), tokens.ready()]);
    return facts;
  }

  /** A refusal for a missing right counts as a call, so refusals fill the audit no faster than calls. */
  function forbidden(caller: Caller, refused: Response, note: () => void, message?: unknown): Response {
    const over = limits.count(caller.id, 1);
    if (over) return overLimit(over, message);
    note();
    return refused;
  }

  /** A caller without the right to read is refused. */
  function readerOf(caller: Caller | Response, resource: Resource): Caller | Response {
    if (caller instanceof Response) return caller;
    const refused = signIn.refusalFor(caller, "read", resource);
    if (!refused) return caller;
    return forbidden(caller, refused, () => options.onRefusal?.(caller, resource.team, { why: "insufficient_scope" }));
  }

  /** Rights are checked before limits, so a call without the right occupies no slot. `onLeave`: receives what frees the slot. */
  function vet({ caller, resource, service }: Authenticated, body: unknown, onLeave: (leave: () => void) => void) {
    for (const { method, params } of messagesIn(body)) {
      const refused = signIn.refusalFor(caller, service.rightFor({ method, params }), resource);
      if (!refused) continue;
      const named = method === "tools/call" && isJsonObject(params) ? params["name"] : method;
      const tool = typeof named === "string" ? named : method;
      return forbidden(caller, refused, () => service.onRefusal?.({ tool, why: "insufficient_scope" }), body);
    }
    const { calls, isStream, notes } = requestedBy(body);
    const over = notes === 0 ? undefined : limits.count(caller.id, notes);
    if (over) return overLimit(over, body);
    if (calls === 0 && !isStream) return undefined;
    const entered: Entered = isStream ? limits.enterStream(caller.id) : limits.enterCalls(caller.id, calls);
    if ("why" in entered) return overLimit(entered, body);
    onLeave(entered.leave);
    return undefined;
  }

  async function dispatch(request: IncomingMessage, { signal, phase }: AtDoor, who: Authenticated): Promise<Served> {
    const { caller, service } = who;
    const { house, leave } = endpoints.enter(service);
    const leaves = [leave];
    const onLeave = (each: () => void) => void leaves.unshift(each);
    const leaveAll = () => {
      for (const each of leaves.splice(0)) each();
    };
    try {
      const served = await routeMcp(request, signal, {
        house,
        isEnding: () => phase() === "ending",
        vet: (body) => vet(who, body, onLeave),
        ...(trace && { within: (body, serve) => trace.within(traceparentIn(body), serve) }),
      });
      return {
        kind: served.kind,
        redact: served.redact ?? service.redact,
        response: endAtExpiry(served, caller, onLeave),
        over: (isWhole) => served.over(isWhole).finally(leaveAll),
      };
    } catch (error) {
      leaveAll();
      throw error;
    }
  }

  async function authenticate(request: IncomingMessage, at: AtDoor, resource: Resource, address: string) {
    const caller = readerOf(await signIn.callerOf(request, address, resource), resource);
    if (caller instanceof Response) return plain(caller);
    let service: CallerService | undefined;
    try {
      service = await options.serviceOf(caller, resource.team);
    } catch (error) {
      log.error({ reason: reasonOf(error) }, "nobody can tell what a caller is served");
      const headers = { "retry-after": String(RETRY_AFTER_SECONDS) };
      return plain(refusal(503, "What you are served cannot be told now. Call again in a moment.", { headers }));
    }
    if (!service) return plain(refusal(404, "There is no such team, or you are not in it."));
    const who = { caller, resource, service };
    const serve = () => dispatch(request, at, who);
    return await (telemetry?.named({ client: caller.clientId }, serve) ?? serve());
  }

  async function answer(request: IncomingMessage, at: AtDoor): Promise<Served> {
    const path = pathOf(request);
    const { method } = request;
    // A probe has neither our Host nor the balancer's headers.
    if (path === HEALTH_PATH) return plain(health(method, false));
    if (path === READY_PATH) return plain(await ready(method, at.phase(), readyNow));
    const judgement = edge.judge(request);
    if ("refused" in judgement) return plain(judgement.refused);
    if (at.isFull()) return plain(tooMany());
    const { address } = judgement;
    const resource = resourceAt(publicOrigin, path);
    if (resource) return await authenticate(request, at, resource, address);
    const found = await document(request, path);
    if (found) return plain(found);
    const nothing = refusal(404, `Nothing is here but ${MCP_PATH}, ${HEALTH_PATH} and ${READY_PATH}.`);
    return (await extra(request, at, path, address)) ?? plain(nothing);
  }

  return {
    log,
    redact,
    telemetry,
    headers: edge.headers,
    // The balancer uses its connections for requests of several clients.
    isLast: () => false,

    answer(request, at) {
      const serve = () => answer(request, at);
      return trace?.within(request.headers["traceparent"], serve) ?? serve();
    },

    endStreams: endpoints.endStreams,
    close: endpoints.close,
  };
}

const LIMITS: ListenerLimits = {
  ...LISTENER_LIMITS,
  maxConnections: 4_096,
  // Access tokens name groups, and some providers write hundreds of them.
  maxHeaderBytes: 32 * 1024,
};

export interface PublicServerOptions extends FrontendOptions, ListenOptions {
  readonly limits?: Partial<ListenerLimits>;
}

/** `address`: beyond loopback only with `isTrustedProxy`, because a balancer must end TLS. Rejects if it cannot listen there. */
export const startPublicServer = (options: PublicServerOptions): Promise<HttpServer> =>
  startServer(options.log, () => createFrontend(options), {
    ...options,
    limits: { ...LIMITS, ...options.limits },
  });
