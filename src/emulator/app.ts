// Processes each request in this order: path, method, token, scope, query, headers, body, idempotency, execution.
import { inputOperations } from "./api/inputs.ts";
import { jobOperations } from "./api/jobs.ts";
import type { OperationContext, OperationHandler } from "./api/operation.ts";
import { processingRequestOperations } from "./api/processing-requests.ts";
import { workspaceOperations } from "./api/workspace.ts";
import { ID_PREFIX } from "./assumptions.ts";
import { authorize, type IssuedTokens } from "./authorization.ts";
import type { Client } from "./clients.ts";
import {
  applyFaultAfterCommit,
  applyFaultBeforeExecution,
  type Fault,
  type FaultOutcome,
  type FaultQueue,
} from "./faults.ts";
import type { Denial } from "./http/host-check.ts";
import { type HttpRequest, parseTarget, type RequestTarget } from "./http/request.ts";
import { type HttpResponse, jsonResponse, withHeaders } from "./http/response.ts";
import { handleTokenRequest, oauthErrorResponse } from "./oauth.ts";
import { type Playground, playgroundRejection } from "./playground.ts";
import { createFieldProblem, ProblemError, toProblem } from "./problems.ts";
import type { Records, RequestRecord } from "./records.ts";
import { type ApiName, apiOfPath, matchRoute, type RouteMatch } from "./router.ts";

export type App = ReturnType<typeof createApp>;

export interface FaultWaits {
  /** Resolves after `delayMs` milliseconds, even if the client has disconnected. Rejects when the emulator closes. */
  sleep(delayMs: number): Promise<void>;
  untilDisconnected(): Promise<void>;
}

export interface AppOptions {
  /** The clock of the first client is the API's clock, and its id generator creates the request ids. */
  readonly clients: readonly [Client, ...Client[]];
  readonly playground: Playground;
  readonly tokens: IssuedTokens;
  /** The scopes that clients may request. */
  readonly scopes: readonly string[];
  readonly faults: FaultQueue;
  readonly records: Records;
}

interface RequestContext {
  readonly api: ApiName;
  readonly request: HttpRequest;
  readonly requestId: string;
  readonly record: RequestRecord;
  /** Applies a delay or hang fault before execution. Resolves with false if the request must not be executed or answered. */
  pause(): Promise<boolean>;
}

const OPERATIONS: ReadonlyMap<string, OperationHandler> = new Map(
  [workspaceOperations, inputOperations, jobOperations, processingRequestOperations]
    .flat()
    .map((each) => [each.endpoint.id, each]),
);

export function createApp({ clients, playground, tokens, scopes, faults, records }: AppOptions) {
  const { clock, ids } = clients[0].world;

  const toErrorResponse = (refusal: ProblemError, api: ApiName, requestId: string): HttpResponse => {
    if (api === "playground") return playgroundRejection(refusal.status);
    if (api === "token") return oauthErrorResponse("invalid_request", refusal.message, refusal.status, refusal.headers);
    const headers = { "X-Request-Id": requestId, ...refusal.headers };
    return jsonResponse(refusal.status, toProblem(refusal, requestId), headers, "application/problem+json");
  };

  const executeOperation = async (
    operation: OperationHandler,
    { parameters }: RouteMatch,
    requestContext: RequestContext,
  ): Promise<HttpResponse | undefined> => {
    const { request, requestId, record, pause } = requestContext;
    const { world, credentials, runOnce } = authorize(operation.endpoint, request, tokens);
    records.recordClient(record, credentials.clientId);
    const context: OperationContext = { world, requestId, isHead: request.method === "HEAD" };
    const { command, execute } = operation.prepare(request, parameters, context);
    // A replayed answer keeps the id of the first one.
    const respond = (): HttpResponse => withHeaders(execute(), { "X-Request-Id": requestId });
    if (command === undefined) return (await pause()) ? respond() : undefined;
    return await runOnce(command, pause, () => {
      const response = respond();
      records.recordExecution(credentials.clientId, command.operationId, command.key);
      return response;
    });
  };

  const dispatch = async (match: RouteMatch, requestContext: RequestContext): Promise<HttpResponse | undefined> => {
    const operation = OPERATIONS.get(match.operationId);
    if (operation !== undefined) return executeOperation(operation, match, requestContext);
    if (!(await requestContext.pause())) return undefined;
    return requestContext.api === "token"
      ? handleTokenRequest(requestContext.request, clients, tokens, scopes)
      : playground.handle(match.operationId, requestContext.request);
  };

  const matchRequest = ({ method, target: { segments }, hasHost }: HttpRequest): RouteMatch | ProblemError => {
    if (!hasHost) return createFieldProblem("MALFORMED_REQUEST", "/header/Host", "Send Host once.");
    if (segments === undefined)
      return createFieldProblem(
        "MALFORMED_REQUEST",
        "/path",
        "Percent-encode the path as UTF-8; . and .. are no segments.",
      );
    const result = matchRoute(method, segments);
    if (result === "unknown path") return new ProblemError("NOT_FOUND");
    return "allow" in result ? new ProblemError("METHOD_NOT_ALLOWED", { headers: { Allow: result.allow } }) : result;
  };

  const createPause = (fault: Fault | undefined, waits: FaultWaits) => async (): Promise<boolean> => {
    if (fault?.kind === "delay") await waits.sleep(fault.delayMs);
    if (fault?.kind !== "hang" || fault.afterCommit === true) return true;
    await waits.untilDisconnected();
    return false;
  };

  const processRequest = async (
    request: HttpRequest,
    found: RouteMatch | ProblemError,
    record: RequestRecord,
    waits: FaultWaits,
  ): Promise<FaultOutcome> => {
    const api = apiOfTarget(request.target);
    const requestId = ids.next(ID_PREFIX.request);
    const rateLimitResponse = api === "playground" ? playground.checkRateLimit(request) : undefined;
    if (rateLimitResponse !== undefined) return { kind: "answer", response: rateLimitResponse };
    if (found instanceof ProblemError) return { kind: "answer", response: toErrorResponse(found, api, requestId) };

    const fault = faults.dequeue(found.operationId);
    if (fault?.kind === "expire-token") tokens.expireAll();
    const faultOutcome = applyFaultBeforeExecution(fault, api, requestId);
    if (faultOutcome !== undefined) return faultOutcome;
    const requestContext: RequestContext = { api, request, requestId, record, pause: createPause(fault, waits) };
    const response = await dispatch(found, requestContext).catch((error: unknown) =>
      toErrorResponse(error instanceof ProblemError ? error : new ProblemError("INTERNAL_ERROR"), api, requestId),
    );
    return response === undefined ? { kind: "hang" } : applyFaultAfterCommit(fault, response, api, requestId);
  };

  return {
    /** Returns the answer to a request that the host check denies. The request is neither read nor recorded. */
    reject(url: string, { header, reason }: Denial): HttpResponse {
      const problem = createFieldProblem("REQUEST_DENIED", `/header/${header}`, reason);
      return toErrorResponse(problem, apiOfTarget(parseTarget(url)), ids.next(ID_PREFIX.request));
    },
    async handle(request: HttpRequest, url: string, waits: FaultWaits): Promise<FaultOutcome> {
      const found = matchRequest(request);
      const record = records.recordRequest(found instanceof ProblemError ? null : found.operationId, url, request);
      const outcome = await processRequest(request, found, record, waits);
      if (outcome.kind !== "answer") return outcome;
      record.status = outcome.response.status;
      // RFC 9110, 6.6.1: Date is the origin server's time, from the same clock as all its other instants.
      return { ...outcome, response: withHeaders(outcome.response, { Date: new Date(clock.now()).toUTCString() }) };
    },
  };
}

const apiOfTarget = ({ segments, rawPath }: RequestTarget): ApiName =>
  apiOfPath(segments ?? rawPath.slice(1).split("/"));
