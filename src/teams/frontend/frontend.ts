// Implements the HTTP front end of a deployment, behind a balancer that ends TLS. The access token of a request identifies its caller, and
// the MCP endpoint of that caller serves the request.
import { isJsonObject } from "../../contract/json.ts";
import { errorMessage } from "../../core/failure.ts";
import type { Redact } from "../../mcp/messages.ts";
import type { Telemetry } from "../../telemetry/port.ts";
import { createEndpoint, type EndpointHooks, type McpEndpoint } from "../../transports/http/endpoint.ts";
import type { Exchange } from "../../transports/http/exchange.ts";
import {
  type HttpFrontEnd,
  type HttpServer,
  LISTENER_LIMITS,
  type ListenerLimits,
  type ListenOptions,
  startServer,
} from "../../transports/http/listener.ts";
import { type HttpService, messagesIn, type RequestOrNotification } from "../../transports/http/port.ts";
import {
  HEALTH_PATH,
  healthResponse,
  isGetOrHead,
  noSuchPath,
  READY_PATH,
  RequestRefused,
  refuse,
  shuttingDown,
  tooManyRequests,
} from "../../transports/http/responses.ts";
import type { CallerTrace } from "../audit/audit.ts";
import type { Caller, Right } from "../caller.ts";
import { ProviderUnavailable, SigningKeyUnknown } from "../oauth/provider.ts";
import { checkAll, createHealthCheck, type HealthCheck, readDegraded } from "../readiness.ts";
import { createTeamShares, type LimitExceeded, type TeamShareLimits } from "../tenancy/team-shares.ts";
import { createEdge, type EdgeOptions } from "./edge.ts";
import { type CallerLimits, createCallerLimits, type RequestedWork } from "./limits.ts";
import { createSignIn, createWellKnown, type Resource, resourceAt, type SignInOptions } from "./sign-in.ts";
import { createStatelessClients } from "./stateless.ts";

export interface CallerService extends HttpService {
  /** Empty if the caller belongs to no team, so only geography works. */
  readonly team?: string;
  rightFor(message: RequestOrNotification): Right;
}

/** Resolves with whether the path is a link. Throws RequestRefused. */
export type ServeDownload = (exchange: Exchange) => Promise<boolean>;

export interface FrontendOptions extends EdgeOptions, SignInOptions {
  /** The same object while nothing has changed; undefined if the path does not exist for this caller. Rejects if that is unknown now. */
  serviceOf(caller: Caller, team: string | undefined): Promise<CallerService | undefined>;
  /** Calls `listener` with each service that was replaced: its streams end, and their clients connect again. */
  onRetired?(listener: (service: CallerService) => void): void;
  readonly serveDownload?: ServeDownload;
  readonly callerLimits: CallerLimits;
  readonly teamShares?: Partial<TeamShareLimits>;
  /** The check of the database, for /readyz. */
  readonly databaseCheck: HealthCheck;
  readonly redact: Redact;
  readonly telemetry?: Telemetry;
  readonly trace?: CallerTrace;
  /** Called when a caller does not have a right. `team`: their team or, before it is known, the team in the path. */
  readonly onMissingScope?: (caller: Caller, team: string | undefined, tool?: string) => void;
  monotonicMs(): number;
}

const RETRY_AFTER_SECONDS = 5;

/** Counts the work in a body. Cancellations do not count, because they are never refused. */
function countRequestedWork(body: unknown): RequestedWork {
  const messages = messagesIn(body);
  const requests = messages.filter(({ isRequest }) => isRequest);
  const notes = messages.filter(({ isRequest, method }) => !isRequest && method !== "notifications/cancelled").length;
  const isStream = requests.some(({ method }) => method === "subscriptions/listen");
  const calls = isStream ? 0 : requests.length;
  return { messages: calls + notes, calls, streams: isStream ? 1 : 0 };
}

/** Returns the trace context in a message of revision 2026-07-28. Older revisions have it only in the header. */
function traceparentIn(body: unknown): unknown {
  const [first] = [body].flat();
  const params = isJsonObject(first) ? first["params"] : undefined;
  const meta = isJsonObject(params) ? params["_meta"] : undefined;
  return isJsonObject(meta) ? meta["traceparent"] : undefined;
}

interface AuthenticatedRequest {
  readonly caller: Caller;
  readonly resource: Resource;
  readonly service: CallerService;
}

function createFrontend(options: FrontendOptions): HttpFrontEnd {
  const { tokens, scopes, signInScopes, publicOrigin, databaseCheck, redact, log, telemetry, trace, recordRefusal } =
    options;
  const edge = createEdge({
    ...options,
    onRefused: (reason) => recordRefusal("bad_request_origin", { reason }),
    onUntrustedProxy: (peer) =>
      log.warn(
        { peer },
        "X-Forwarded-For is ignored, because MIC_TRUST_PROXY does not contain the address of its sender",
      ),
  });
  const signIn = createSignIn(options);
  const limits = createCallerLimits(options.callerLimits, options.monotonicMs);
  const shares = createTeamShares(options.teamShares);
  const endpoints = new WeakMap<CallerService, McpEndpoint>();
  const inFlight = new Map<Exchange, CallerService>();
  const supportedScopes = [...new Set([...signInScopes, ...Object.values(scopes)])];
  const wellKnown = createWellKnown({ tokens, scopes: supportedScopes, publicOrigin });

  function refuseBeyondLimit(exceeded: LimitExceeded, facts: object, message: unknown): RequestRefused {
    const { reason, why, retryAfterSeconds } = exceeded;
    recordRefusal(reason, { ...facts, reason: why });
    const headers = { "retry-after": String(retryAfterSeconds) };
    return refuse(429, `Limit exceeded: ${why}. Try again in ${retryAfterSeconds} s.`, { message, headers });
  }

  /** Admits work within the limits of the caller, and returns the function that frees its slots. Throws RequestRefused. */
  function admit({ id: caller }: Caller, work: RequestedWork, message?: unknown): () => void {
    const admitted = limits.admit(caller, work);
    if ("release" in admitted) return admitted.release;
    throw refuseBeyondLimit(admitted, { caller }, message);
  }

  function endpointOf(service: CallerService): McpEndpoint {
    const endpoint = endpoints.get(service) ?? createEndpoint(service, createStatelessClients(service));
    endpoints.set(service, endpoint);
    return endpoint;
  }

  /** Ends streams only: calls continue. */
  options.onRetired?.((service) => {
    for (const [{ endStream }, served] of inFlight)
      if (served === service)
        endStream?.().catch((error: unknown) => log.warn({ reason: errorMessage(error) }, "closing a stream failed"));
  });

  /** Refuses with 503 instead of 401, because clients discard their tokens after a 401, and the tokens may be valid. */
  function providerRefusal(error: ProviderUnavailable, address: string): RequestRefused {
    const isKeyUnknown = error instanceof SigningKeyUnknown;
    recordRefusal(isKeyUnknown ? "signing_key_unknown" : "provider_unavailable", { address, reason: error.message });
    const seconds = isKeyUnknown ? error.retryAfterSeconds : RETRY_AFTER_SECONDS;
    const reason = isKeyUnknown
      ? `The token's signing key is not known yet. Try again in ${seconds} s.`
      : "The caller could not be authenticated: the identity provider is not available. Try again.";
    return refuse(503, reason, { headers: { "retry-after": String(seconds) } });
  }

  async function serveDownload(exchange: Exchange): Promise<boolean | undefined> {
    if (exchange.phase() === "shutting_down") throw new RequestRefused(shuttingDown());
    return await options.serveDownload?.(exchange);
  }

  const providerCheck = createHealthCheck({
    name: "identity provider",
    log,
    monotonicMs: options.monotonicMs,
    async run() {
      await tokens.ready();
      const reason = await tokens.findOutage();
      return reason === undefined ? undefined : { status: "degraded", reason };
    },
  });
  const checks = { database: databaseCheck, identityProvider: providerCheck };
  telemetry?.registerGauge("mic.identity_provider.degraded", () => readDegraded(providerCheck));

  /** Counts a refusal for a missing right as a call, so that the rate limit also bounds the rows in the audit. Throws RequestRefused. */
  function requireRight(caller: Caller, right: Right, resource: Resource, record: () => void, message?: unknown): void {
    if (caller.rights.has(right)) return;
    admit(caller, { messages: 1, calls: 0, streams: 0 }, message);
    record();
    throw new RequestRefused(signIn.refuseForRight(caller, right, resource));
  }

  /** Waits for a slot in the team's share. Rights are checked first, so a call without the right occupies no slot. */
  async function checkRightsAndLimits(
    { caller, resource, service }: AuthenticatedRequest,
    body: unknown,
    { signal }: Exchange,
  ): Promise<() => void> {
    for (const { method, params } of messagesIn(body)) {
      const named = method === "tools/call" && isJsonObject(params) ? params["name"] : method;
      const tool = typeof named === "string" ? named : method;
      const record = () => options.onMissingScope?.(caller, service.team, tool);
      requireRight(caller, service.rightFor({ method, params }), resource, record, body);
    }
    const work = countRequestedWork(body);
    const release = admit(caller, work, body);
    const { team = "" } = service;
    if (work.calls === 0) return release;
    const entered = await shares.enter(team, signal);
    if ("release" in entered)
      return () => {
        entered.release();
        release();
      };
    release();
    if (signal.aborted) throw refuse(503, "The client has disconnected.");
    throw refuseBeyondLimit(entered, { team, caller: caller.id }, body);
  }

  async function dispatch(exchange: Exchange, authenticated: AuthenticatedRequest): Promise<undefined> {
    const { caller, service } = authenticated;
    inFlight.set(exchange, service);
    let releaseSlot: (() => void) | undefined;
    exchange.redact = service.redact;
    // The stream ends with the token; its client connects again with a new token.
    exchange.streamEndsAt = caller.expiresAt;
    try {
      const hooks: EndpointHooks = {
        async checkRequest(body) {
          releaseSlot = await checkRightsAndLimits(authenticated, body, exchange);
        },
        ...(trace && { runInContext: (body, serve) => trace.run(traceparentIn(body), serve) }),
      };
      const response = await shares.runRequest(() => endpointOf(service)(exchange, hooks));
      if (response) await exchange.respond(response);
      // A call occupies its slot until its response was sent.
      await exchange.finished;
    } finally {
      releaseSlot?.();
      inFlight.delete(exchange);
    }
  }

  async function authenticate(exchange: Exchange, resource: Resource, address: string): Promise<undefined> {
    const caller = await signIn.callerOf(exchange.request, address, resource);
    requireRight(caller, "read", resource, () => options.onMissingScope?.(caller, resource.team));
    let service: CallerService | undefined;
    try {
      service = await options.serviceOf(caller, resource.team);
    } catch (error) {
      log.error({ reason: errorMessage(error) }, "checking a caller's team membership failed");
      const headers = { "retry-after": String(RETRY_AFTER_SECONDS) };
      throw refuse(503, "Team membership could not be checked. Try again.", { headers });
    }
    if (!service) throw refuse(404, "The team does not exist, or you are not a member of it.");
    if (service.team === "") signIn.recordNoTeam(caller, resource);
    return await dispatch(exchange, { caller, resource, service });
  }

  async function routeRequest(exchange: Exchange): Promise<Response | undefined> {
    const { request, path } = exchange;
    const { method } = request;
    // A probe has neither the public Host nor the balancer's headers.
    if (path === HEALTH_PATH) return healthResponse(method, false);
    if (path === READY_PATH)
      return exchange.phase() === "serving" && isGetOrHead(method)
        ? await checkAll(checks)
        : healthResponse(method, exchange.phase() !== "serving");
    const address = edge.check(request);
    if (exchange.isOverloaded()) return tooManyRequests();
    try {
      const resource = resourceAt(publicOrigin, path);
      if (resource) return await authenticate(exchange, resource, address);
      const found = await wellKnown(method ?? "", path);
      if (found) return found;
      return (await serveDownload(exchange)) ? undefined : noSuchPath();
    } catch (error) {
      throw error instanceof ProviderUnavailable ? providerRefusal(error, address) : error;
    }
  }

  return {
    log,
    redact,
    telemetry,
    headers: edge.headers,
    serve(exchange) {
      const serve = () => routeRequest(exchange);
      return trace?.run(exchange.request.headers["traceparent"], serve) ?? serve();
    },
  };
}

const LIMITS: ListenerLimits = {
  ...LISTENER_LIMITS,
  maxConnections: 4_096,
  // Access tokens contain groups, and some providers include hundreds of them.
  maxHeaderBytes: 32 * 1024,
};

export interface PublicServerOptions extends FrontendOptions, ListenOptions {
  readonly limits?: Partial<ListenerLimits>;
}

/** `address`: outside loopback only with `isTrustedProxy`, because a balancer must end TLS. Rejects if it cannot listen there. */
export const startPublicServer = (options: PublicServerOptions): Promise<HttpServer> =>
  startServer(createFrontend(options), {
    ...options,
    limits: { ...LIMITS, ...options.limits },
  });
