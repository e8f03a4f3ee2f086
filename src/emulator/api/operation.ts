// Connects each endpoint of the contract to its execution, and builds successful answers in envelopes (docs/contract.md, 2.2).
import type * as z from "zod/v4";
import type { Endpoint, KeyGrammar } from "../../contract/endpoints/endpoint.ts";
import { type Job, jobETag } from "../../contract/jobs.ts";
import type { HttpRequest } from "../http/request.ts";
import { type HttpResponse, jsonResponse } from "../http/response.ts";
import type { Command } from "../idempotency.ts";
import { sha256 } from "../ids.ts";
import { createFieldProblem } from "../problems.ts";
import type { World } from "../world/world.ts";
import { checkNoBody, readBody, readIdempotencyKey, readIfMatch, readPath, readQuery } from "./validate.ts";

export interface OperationContext {
  readonly world: World;
  readonly requestId: string;
  /** True for HEAD, which is not counted as usage. */
  readonly isHead: boolean;
}

export interface PreparedOperation {
  /** Throws ProblemError if the state of the world does not allow the operation; nothing was changed then. */
  execute(): HttpResponse;
  /** Set on a POST: the command that must be executed at most once. */
  readonly command?: Command;
}

export interface OperationHandler {
  readonly endpoint: Endpoint;
  /** Throws ProblemError if the request breaks a rule of the contract. */
  prepare(request: HttpRequest, path: Readonly<Record<string, string>>, context: OperationContext): PreparedOperation;
}

type Path<E extends Endpoint> = z.output<E["pathParameters"]>;

export interface ReadRequest<E extends Endpoint> {
  readonly path: Path<E>;
  readonly query: z.output<E["query"]>;
}

export const defineRead = <E extends Endpoint>(
  endpoint: E,
  respond: (reading: ReadRequest<E>, context: OperationContext) => HttpResponse,
): OperationHandler => ({
  endpoint,
  prepare(request, parameters, context) {
    const path = readPath<E["pathParameters"]>(endpoint.pathParameters, parameters);
    const query = readQuery<E["query"]>(endpoint.query, request);
    checkNoBody(endpoint, request);
    return { execute: () => respond({ path, query }, context) };
  },
});

type ActionEndpoint = Endpoint & { readonly body: z.ZodType; readonly idempotencyKey: KeyGrammar };

export interface ActionRequest<E extends ActionEndpoint> {
  readonly path: Path<E>;
  readonly body: z.output<E["body"]>;
  /** The job version in If-Match, if the endpoint takes it. */
  readonly ifMatch: number | undefined;
}

export const defineAction = <E extends ActionEndpoint>(
  endpoint: E,
  execute: (order: ActionRequest<E>, context: OperationContext) => HttpResponse,
): OperationHandler => ({
  endpoint,
  prepare(request, parameters, context) {
    const path = readPath<E["pathParameters"]>(endpoint.pathParameters, parameters);
    readQuery(endpoint.query, request);
    const key = readIdempotencyKey(endpoint.idempotencyKey, request);
    const ifMatch = endpoint.ifMatch ? readIfMatch(request) : undefined;
    const body = readBody<E["body"]>(endpoint.body, request);
    return {
      command: {
        operationId: endpoint.id,
        key,
        fingerprint: computeFingerprint(endpoint, parameters, ifMatch, request),
      },
      execute: () => execute({ path, body, ifMatch }, context),
    };
  },
});

function computeFingerprint(
  { method, path }: Endpoint,
  parameters: Readonly<Record<string, string>>,
  ifMatch: number | undefined,
  { body }: HttpRequest,
): string {
  const head = JSON.stringify([method, path, Object.entries(parameters), ifMatch ?? null]);
  return sha256(`${head}\n${sha256(body)}`);
}

export const envelopeResponse = (
  status: 200 | 201 | 202,
  data: unknown,
  { requestId }: OperationContext,
  headers: Readonly<Record<string, string>> = {},
): HttpResponse => jsonResponse(status, { data, meta: { requestId } }, headers);

/** Returns an answer whose data is a single job, with the job's ETag (open question 3). */
export const jobResponse = (
  status: 200 | 202,
  job: Job,
  context: OperationContext,
  headers: Readonly<Record<string, string>> = {},
): HttpResponse => envelopeResponse(status, job, context, { ETag: jobETag(job.resourceVersion), ...headers });

/** Cuts a page from the rest of a list. `items`: at least one more than `limit`, if the list has them. */
export function cutPage<T>(items: readonly T[], limit: number, createCursor: (last: T) => string) {
  const data = items.slice(0, limit);
  const last = data.at(-1);
  const hasMore = items.length > limit;
  return { data, page: { nextCursor: hasMore && last !== undefined ? createCursor(last) : null, hasMore } };
}

export const locationHeader = (path: string): Readonly<Record<string, string>> => ({
  Location: `/sandbox/v1/mic${path}`,
});

export function checkWorkspace(workspaceId: string, { world }: OperationContext, pointer: string): void {
  if (workspaceId !== world.workspaceId)
    throw createFieldProblem("WORKSPACE_FORBIDDEN", pointer, "This application has no access to this workspace.");
}

export function requireResource<T>(resource: T | undefined, name: string, kind: string): T {
  if (resource === undefined) throw createFieldProblem("NOT_FOUND", `/path/${name}`, `There is no such ${kind}.`);
  return resource;
}
