// Joins an endpoint of the contract with its execution, which happens once and after all rules are checked, and makes successful answers in the
// contract's envelopes (docs/contract.md, 2.2).
import type * as z from "zod/v4";
import type { Endpoint, KeyGrammar } from "../../contract/endpoints/endpoint.ts";
import { type Job, jobETag } from "../../contract/jobs.ts";
import { type Answer, jsonAnswer } from "../http/answer.ts";
import type { HttpRequest } from "../http/request.ts";
import type { Command } from "../idempotency.ts";
import { sha256 } from "../ids.ts";
import { refuseField } from "../problems.ts";
import type { World } from "../world/world.ts";
import { readBody, readIdempotencyKey, readIfMatch, readPath, readQuery, refuseBody } from "./validate.ts";

/** What an execution has at hand. */
export interface Context {
  readonly world: World;
  readonly requestId: string;
  /** HEAD reads without being counted. */
  readonly isHead: boolean;
}

export interface PreparedAnswer {
  /** Throws a Refusal when the world does not allow it; then nothing was done. */
  execute(): Answer;
  /** On a POST: what must happen at most once. */
  readonly command?: Command;
}

export interface OperationHandler {
  readonly endpoint: Endpoint;
  /** Throws a Refusal when the request breaks a rule of the contract. */
  prepare(request: HttpRequest, path: Readonly<Record<string, string>>, context: Context): PreparedAnswer;
}

type Path<E extends Endpoint> = z.output<E["pathParameters"]>;

export interface ReadRequest<E extends Endpoint> {
  readonly path: Path<E>;
  readonly query: z.output<E["query"]>;
}

/** A GET. */
export const read = <E extends Endpoint>(
  endpoint: E,
  answer: (reading: ReadRequest<E>, context: Context) => Answer,
): OperationHandler => ({
  endpoint,
  prepare(request, parameters, context) {
    const path = readPath<E["pathParameters"]>(endpoint.pathParameters, parameters);
    const query = readQuery<E["query"]>(endpoint.query, request);
    refuseBody(endpoint, request);
    return { execute: () => answer({ path, query }, context) };
  },
});

type Acting = Endpoint & { readonly body: z.ZodType; readonly idempotencyKey: KeyGrammar };

export interface ActionRequest<E extends Acting> {
  readonly path: Path<E>;
  readonly body: z.output<E["body"]>;
  /** The version that If-Match quotes, where the endpoint takes it. */
  readonly ifMatch: number | undefined;
}

/** A POST: one command for each Idempotency-Key. */
export const act = <E extends Acting>(
  endpoint: E,
  execute: (order: ActionRequest<E>, context: Context) => Answer,
): OperationHandler => ({
  endpoint,
  prepare(request, parameters, context) {
    const path = readPath<E["pathParameters"]>(endpoint.pathParameters, parameters);
    readQuery(endpoint.query, request);
    const key = readIdempotencyKey(endpoint.idempotencyKey, request);
    const ifMatch = endpoint.ifMatch ? readIfMatch(request) : undefined;
    const body = readBody<E["body"]>(endpoint.body, request);
    return {
      command: { operationId: endpoint.id, key, fingerprint: fingerprint(endpoint, parameters, ifMatch, request) },
      execute: () => execute({ path, body, ifMatch }, context),
    };
  },
});

/** Method, path, If-Match and the body's very bytes. */
function fingerprint(
  { method, path }: Endpoint,
  parameters: Readonly<Record<string, string>>,
  ifMatch: number | undefined,
  { body }: HttpRequest,
): string {
  const head = JSON.stringify([method, path, Object.entries(parameters), ifMatch ?? null]);
  return sha256(`${head}\n${sha256(body)}`);
}

export const enveloped = (
  status: 200 | 201 | 202,
  data: unknown,
  { requestId }: Context,
  headers: Readonly<Record<string, string>> = {},
): Answer => jsonAnswer(status, { data, meta: { requestId } }, headers);

/** A single job carries its ETag (doubts.md 3). */
export const jobAnswer = (
  status: 200 | 202,
  job: Job,
  context: Context,
  headers: Readonly<Record<string, string>> = {},
): Answer => enveloped(status, job, context, { ETag: jobETag(job.resourceVersion), ...headers });

export const location = (path: string): Readonly<Record<string, string>> => ({ Location: `/sandbox/v1/mic${path}` });

/** The application has one workspace. */
export function checkWorkspace(workspaceId: string, { world }: Context, pointer: string): void {
  if (workspaceId !== world.workspaceId)
    throw refuseField("WORKSPACE_FORBIDDEN", pointer, "This application has no access to this workspace.");
}

/** The resource, or a refusal that names the path parameter. */
export function found<T>(resource: T | undefined, name: string, what: string): T {
  if (resource === undefined) throw refuseField("NOT_FOUND", `/path/${name}`, `There is no such ${what}.`);
  return resource;
}
