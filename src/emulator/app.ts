// The frame every request goes through: path, method, token, scope, query, headers, body, idempotency, execution.
import { inputOperations } from "./api/inputs.ts";
import { jobOperations } from "./api/jobs.ts";
import type { Context, OperationHandler } from "./api/operation.ts";
import { processingRequestOperations } from "./api/processing-requests.ts";
import { workspaceOperations } from "./api/workspace.ts";
import { ID_PREFIX } from "./assumptions.ts";
import { authorize, type IssuedTokens } from "./authorization.ts";
import type { Client } from "./clients.ts";
import { afterCommit, beforeAnything, type Fault, type FaultOutcome, type Faults } from "./faults.ts";
import { type Answer, jsonAnswer, withHeaders } from "./http/answer.ts";
import type { Denial } from "./http/host-check.ts";
import { type HttpRequest, type RequestTarget, readTarget } from "./http/request.ts";
import { isClaim } from "./idempotency.ts";
import { answerTokenRequest, oauthError } from "./oauth.ts";
import { type Playground, playgroundRefusal } from "./playground.ts";
import { problemOf, Refusal, refuseField } from "./problems.ts";
import type { Records, RequestRecord } from "./records.ts";
import { type Area, areaOf, type Match, route } from "./router.ts";

export interface App {
  /** To a request for this URL that may not come in: nothing was looked at, and nothing counts. */
  deny(url: string, denial: Denial): Answer;
  handle(request: HttpRequest, url: string, patience: Patience): Promise<FaultOutcome>;
}

/** Waiting on request of a fault. */
export interface Patience {
  /** Resolves after so many milliseconds, whether or not the client is still there. */
  wait(delayMs: number): Promise<void>;
  /** Resolves when the client has gone. */
  gone(): Promise<void>;
}

export interface AppParts {
  /** The first one's clock is the service's, and its ids name the requests. */
  readonly clients: readonly [Client, ...Client[]];
  readonly playground: Playground;
  readonly tokens: IssuedTokens;
  readonly faults: Faults;
  readonly records: Records;
}

/** One request on its way. */
interface Passage {
  readonly area: Area;
  readonly request: HttpRequest;
  readonly requestId: string;
  readonly record: RequestRecord;
  /** What a delay or a hang does before execution; false: the client has gone unanswered, do nothing. */
  pause(): Promise<boolean>;
}

const OPERATIONS: ReadonlyMap<string, OperationHandler> = new Map(
  [workspaceOperations, inputOperations, jobOperations, processingRequestOperations]
    .flat()
    .map((each) => [each.endpoint.id, each]),
);

export function makeApp({ clients, playground, tokens, faults, records }: AppParts): App {
  const { clock, ids } = clients[0].world;

  /** The refusal in the words of its API. */
  const refused = (refusal: Refusal, area: Area, requestId: string): Answer => {
    if (area === "playground") return playgroundRefusal(refusal.status);
    if (area === "token") return oauthError("invalid_request", refusal.message, refusal.status, refusal.headers);
    return jsonAnswer(refusal.status, problemOf(refusal, requestId), refusal.headers, "application/problem+json");
  };

  const operate = async (
    operation: OperationHandler,
    { parameters }: Match,
    passage: Passage,
  ): Promise<Answer | undefined> => {
    const { request, requestId, record, pause } = passage;
    const { world, credentials, idempotency } = authorize(operation.endpoint, request, tokens);
    records.client(record, credentials.clientId);
    const context: Context = { world, requestId, isHead: request.method === "HEAD" };
    const { command, execute } = operation.prepare(request, parameters, context);
    if (command === undefined) return (await pause()) ? execute() : undefined;

    const claim = idempotency.claim(command);
    if (!isClaim(claim)) return (await pause()) ? claim : undefined;
    let isCompleted = false;
    try {
      if (!(await pause())) return undefined;
      const answer = withHeaders(execute(), { "X-Request-Id": requestId });
      claim.complete(answer);
      isCompleted = true;
      records.execution(credentials.clientId, command.operationId, command.key);
      return answer;
    } finally {
      if (!isCompleted) claim.release();
    }
  };

  const perform = async (match: Match, passage: Passage): Promise<Answer | undefined> => {
    const operation = OPERATIONS.get(match.operationId);
    if (operation !== undefined) return operate(operation, match, passage);
    if (!(await passage.pause())) return undefined;
    return passage.area === "token"
      ? answerTokenRequest(passage.request, clients, tokens)
      : playground.answer(match.operationId, passage.request);
  };

  const find = ({ method, target: { segments }, hasHost }: HttpRequest): Match | Refusal => {
    if (!hasHost) return refuseField("MALFORMED_REQUEST", "/header/Host", "Send Host once.");
    if (segments === undefined)
      return refuseField("MALFORMED_REQUEST", "/path", "Percent-encode the path as UTF-8; . and .. are no segments.");
    const routed = route(method, segments);
    if (routed === "unknown path") return new Refusal("NOT_FOUND");
    return "allow" in routed ? new Refusal("METHOD_NOT_ALLOWED", { headers: { Allow: routed.allow } }) : routed;
  };

  const pauseOf = (fault: Fault | undefined, patience: Patience) => async (): Promise<boolean> => {
    if (fault?.kind === "delay") await patience.wait(fault.delayMs);
    if (fault?.kind !== "hang" || fault.afterCommit === true) return true;
    await patience.gone();
    return false;
  };

  const passThrough = async (
    request: HttpRequest,
    found: Match | Refusal,
    record: RequestRecord,
    patience: Patience,
  ): Promise<FaultOutcome> => {
    const area = areaAt(request.target);
    const requestId = ids.next(ID_PREFIX.request);
    const limited = area === "playground" ? playground.limit(request) : undefined;
    if (limited !== undefined) return { kind: "answer", answer: limited };
    if (found instanceof Refusal)
      return { kind: "answer", answer: identified(refused(found, area, requestId), area, requestId) };

    const fault = faults.take(found.operationId);
    if (fault?.kind === "expire-token") tokens.expireAll();
    const struck = beforeAnything(fault, area, requestId);
    if (struck !== undefined) return struck;
    const passage: Passage = { area, request, requestId, record, pause: pauseOf(fault, patience) };
    const answer = await perform(found, passage).catch((error: unknown) =>
      refused(error instanceof Refusal ? error : new Refusal("INTERNAL_ERROR"), area, requestId),
    );
    return answer === undefined
      ? { kind: "hang" }
      : afterCommit(fault, identified(answer, area, requestId), area, requestId);
  };

  return {
    deny(url, { header, reason }) {
      const area = areaAt(readTarget(url));
      const requestId = ids.next(ID_PREFIX.request);
      return identified(
        refused(refuseField("REQUEST_DENIED", `/header/${header}`, reason), area, requestId),
        area,
        requestId,
      );
    },
    async handle(request, url, patience) {
      const found = find(request);
      const record = records.request(found instanceof Refusal ? null : found.operationId, url, request);
      const outcome = await passThrough(request, found, record, patience);
      if (outcome.kind !== "answer") return outcome;
      record.status = outcome.answer.status;
      // RFC 9110, 6.6.1: the origin server's clock, by which all its other instants are.
      return { ...outcome, answer: withHeaders(outcome.answer, { Date: new Date(clock.now()).toUTCString() }) };
    },
  };
}

const areaAt = ({ segments, rawPath }: RequestTarget): Area => areaOf(segments ?? rawPath.slice(1).split("/"));

/** On job-processing answers; a replayed one keeps the id of its first answer. */
const identified = (answer: Answer, area: Area, requestId: string): Answer =>
  area !== "job-processing" || "X-Request-Id" in answer.headers
    ? answer
    : withHeaders(answer, { "X-Request-Id": requestId });
