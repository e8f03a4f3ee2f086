// The door of a deployment for teams: every request names its caller by an access token, and goes to that caller's house.
import type { IncomingMessage } from "node:http";
import { isJSONRPCNotification, isJSONRPCRequest } from "@modelcontextprotocol/server";
import type { Caller, Right } from "../../caller.ts";
import { isJsonObject } from "../../contract/json.ts";
import { reasonOf } from "../../failure.ts";
import type { AtDoor, Door } from "../../mcp/http/door.ts";
import { type HttpService, messagesIn, plain, type Served } from "../../mcp/http/port.ts";
import { HEALTH_PATH, health, READY_PATH, ready } from "../../mcp/http/probes.ts";
import { ending, refusal, tooMany } from "../../mcp/http/refusal.ts";
import { MCP_PATH, pathOf, routeMcp } from "../../mcp/http/routes.ts";
import type { Redact } from "../../mcp/messages/redact.ts";
import type { Log, Refusal } from "../../mcp/runtime.ts";
import type { Telemetry } from "../../telemetry/port.ts";
import type { AccessTokens } from "../oauth/access-tokens.ts";
import { ProviderUnavailable } from "../oauth/refused.ts";
import type { CallersTrace } from "./callers-trace.ts";
import { createEdge, type EdgeOptions } from "./edge.ts";
import { createHouses } from "./endpoints.ts";
import type { Guests } from "./guests.ts";
import { type CallerLimits, createCallerLimits, type Entered, type Over } from "./limits.ts";
import { type Resource, resourceAt, rootResource } from "./resources.ts";
import { createSignIn, providerUnavailable, type SignIn } from "./sign-in.ts";
import { whileGood } from "./until.ts";
import { createWellKnown } from "./well-known.ts";

/** What stands beside /mcp: undefined where it has no such path. `callerOf`: for what asks for a token as well. */
export type Annex = (
  request: IncomingMessage,
  at: { readonly path: string; readonly signal: AbortSignal; callerOf(): Promise<Caller | Response> },
) => Promise<Served | undefined>;

export interface PublicDoorOptions extends EdgeOptions {
  readonly guests: Guests;
  readonly annex?: Annex;
  readonly tokens: AccessTokens;
  /** An audience that is good at every path, beside the path's own URL. */
  readonly audience: string;
  readonly scopes: Readonly<Record<Right, string>>;
  readonly callerLimits: CallerLimits;
  /** What calls depend on beside the identity provider: rejects, saying why, where they cannot be served. */
  readonly readiness: () => Promise<object>;
  readonly redact: Redact;
  readonly log: Log;
  /** Absent: nobody asked for it. */
  readonly telemetry?: Telemetry | undefined;
  /** Is told the trace of each request. */
  readonly trace?: CallersTrace;
  /** Where there is an audit: this caller may not even read. `team`: that of the path. */
  readonly refused?: (caller: Caller, team: string | undefined, refusal: Refusal) => void;
  monotonicMs(): number;
}

const RETRY_AFTER_SECONDS = 5;

const overLimit = ({ why, retryAfterSeconds: seconds }: Over, message: unknown): Response =>
  refusal(429, `This caller has ${why}; call again in ${seconds} s.`, {
    message,
    headers: { "retry-after": String(seconds) },
  });

const CANCELLED = "notifications/cancelled";

/** What a body asks for: a stream that stays open, or so many calls; and how many notes it brings. */
interface AskedIn {
  readonly calls: number;
  readonly isStream: boolean;
  /** Notifications; but what ends a call, or answers its question, must get in whatever has been asked before. */
  readonly notes: number;
}

function askedIn(body: unknown): AskedIn {
  const messages = [body].flat();
  const requests = messages.filter((message) => isJSONRPCRequest(message));
  const notes = messages.filter((message) => isJSONRPCNotification(message) && message.method !== CANCELLED).length;
  const isStream = requests.some(({ method }) => method === "subscriptions/listen");
  return { calls: isStream ? 0 : requests.length, isStream, notes };
}

/** The trace context that a message of 2026-07-28 carries; the older revisions have it in the header alone. */
function traceparentIn(body: unknown): unknown {
  const [first] = [body].flat();
  const params = isJsonObject(first) ? first["params"] : undefined;
  const meta = isJsonObject(params) ? params["_meta"] : undefined;
  return isJsonObject(meta) ? meta["traceparent"] : undefined;
}

interface Visit {
  readonly caller: Caller;
  readonly resource: Resource;
  readonly service: HttpService;
}

export function createPublicDoor(options: PublicDoorOptions): Door {
  const { guests, tokens, scopes, publicOrigin, readiness, redact, log, telemetry, trace } = options;
  const edge = createEdge(options);
  const signIn: SignIn = createSignIn(options);
  const limits = createCallerLimits(options.callerLimits, options.monotonicMs);
  const houses = createHouses();
  const wellKnown = createWellKnown({
    tokens,
    scopes: Object.values(scopes),
    resourceAt: (path) => resourceAt(publicOrigin, path),
    rootPath: MCP_PATH,
  });

  guests.onRetired?.((service) => {
    houses
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

  async function beside(request: IncomingMessage, { signal, phase }: AtDoor, path: string, address: string) {
    if (phase() === "ending") return plain(ending());
    // A token for any of the resources will do: what is given out there says itself whose it is.
    const resource = rootResource(publicOrigin);
    const callerOf = async () => readerOf(await signIn.callerAtAny(request, address, resource), resource);
    return await options.annex?.(request, { path, signal, callerOf });
  }

  async function readyNow(): Promise<object> {
    const [facts] = await Promise.all([readiness(), tokens.ready()]);
    return facts;
  }

  /** A refusal for lack of a right takes of the caller's rate: so no rows of the audit come faster than calls. */
  function lacking(caller: Caller, refused: Response, note: () => void, message?: unknown): Response {
    const over = limits.count(caller.id, 1);
    if (over) return overLimit(over, message);
    note();
    return refused;
  }

  /** Who may not read may do nothing here. */
  function readerOf(caller: Caller | Response, resource: Resource): Caller | Response {
    if (caller instanceof Response) return caller;
    const refused = signIn.refusalFor(caller, "read", resource);
    if (!refused) return caller;
    return lacking(caller, refused, () => options.refused?.(caller, resource.team, { why: "insufficient_scope" }));
  }

  /** Rights come first: a call that may not be made takes no place of others. */
  function vet({ caller, resource, service }: Visit, body: unknown, entered: (leave: () => void) => void) {
    for (const { method, params } of messagesIn(body)) {
      const refused = signIn.refusalFor(caller, service.rightFor?.({ method, params }) ?? "read", resource);
      if (!refused) continue;
      const named = method === "tools/call" && isJsonObject(params) ? params["name"] : method;
      const tool = typeof named === "string" ? named : method;
      return lacking(caller, refused, () => service.refused?.({ tool, why: "insufficient_scope" }), body);
    }
    const { calls, isStream, notes } = askedIn(body);
    const over = notes === 0 ? undefined : limits.count(caller.id, notes);
    if (over) return overLimit(over, body);
    if (calls === 0 && !isStream) return undefined;
    return atLimit(isStream ? limits.enterStream(caller.id) : limits.enterCalls(caller.id, calls), body, entered);
  }

  function atLimit(result: Entered, message: unknown, entered: (leave: () => void) => void): Response | undefined {
    if ("why" in result) return overLimit(result, message);
    entered(result.leave);
    return undefined;
  }

  async function visit(request: IncomingMessage, { signal, phase }: AtDoor, who: Visit): Promise<Served> {
    const { caller, service } = who;
    let leave = (): void => undefined;
    const entered = (left: () => void) => {
      leave = left;
    };
    try {
      const served = await houses.serveIn(service, (house) =>
        routeMcp(request, signal, {
          house,
          isEnding: () => phase() === "ending",
          vet: (body) => vet(who, body, entered),
          ...(trace && { within: (body, serve) => trace.within(traceparentIn(body), serve) }),
        }),
      );
      const lasting = whileGood(served, caller.expiresAt);
      return {
        ...lasting,
        async over(isWhole) {
          leave();
          await lasting.over(isWhole);
        },
      };
    } catch (error) {
      leave();
      throw error;
    }
  }

  async function welcome(request: IncomingMessage, at: AtDoor, resource: Resource, address: string): Promise<Served> {
    const caller = readerOf(await signIn.callerOf(request, address, resource), resource);
    if (caller instanceof Response) return plain(caller);
    let service: HttpService | undefined;
    try {
      service = await guests.enter(caller, resource.team);
    } catch (error) {
      log.error({ reason: reasonOf(error) }, "nobody can tell what a caller is served");
      const headers = { "retry-after": String(RETRY_AFTER_SECONDS) };
      return plain(refusal(503, "What you are served cannot be told now. Call again in a moment.", { headers }));
    }
    if (!service) return plain(refusal(404, "There is no such team, or you are not in it."));
    const who = { caller, resource, service };
    const visiting = () => visit(request, at, who);
    return await (telemetry?.named({ client: caller.clientId }, visiting) ?? visiting());
  }

  async function answer(request: IncomingMessage, at: AtDoor): Promise<Served> {
    const path = pathOf(request);
    const { method } = request;
    // Whoever probes knows neither our name nor the way through the balancer.
    if (path === HEALTH_PATH) return plain(health(method, false));
    if (path === READY_PATH) return plain(await ready(method, at.phase(), readyNow));
    const judgement = edge.judge(request);
    if ("refused" in judgement) return plain(judgement.refused);
    if (at.isFull()) return plain(tooMany());
    const { address } = judgement;
    const resource = resourceAt(publicOrigin, path);
    if (resource) return await welcome(request, at, resource, address);
    const found = await document(request, path);
    if (found) return plain(found);
    const nothing = refusal(404, `Nothing is here but ${MCP_PATH}, ${HEALTH_PATH} and ${READY_PATH}.`);
    return (await beside(request, at, path, address)) ?? plain(nothing);
  }

  return {
    log,
    redact,
    telemetry,
    headers: edge.headers,
    // The connection is the balancer's, and others' requests come on it.
    isLast: () => false,

    answer(request, at) {
      const serve = () => answer(request, at);
      return trace?.within(request.headers["traceparent"], serve) ?? serve();
    },

    endStreams: houses.endStreams,
    close: houses.close,
  };
}
