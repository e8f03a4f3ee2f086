// Queues requested faults of the network and the API for each operation, and applies them in order to requests and answers.
import { parse, stringify } from "lossless-json";
import * as z from "zod/v4";
import { endpoints } from "../contract/endpoints/index.ts";
import { isJsonObject } from "../contract/json.ts";
import { encodeUtf8, type HttpResponse, jsonResponse } from "./http/response.ts";
import { oauthErrorResponse } from "./oauth.ts";
import { playgroundErrorResponse } from "./playground.ts";
import { createProblem } from "./problems.ts";
import { type ApiName, TOKEN_OPERATION } from "./router.ts";

const MAX_DELAY_MS = 600_000;
const MAX_QUEUED = 10_000;

const Fault = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("drop-before") }),
  z.strictObject({ kind: z.literal("drop-after") }),
  z.strictObject({ kind: z.literal("delay"), delayMs: z.int().min(0).max(MAX_DELAY_MS) }),
  z.strictObject({ kind: z.literal("hang"), afterCommit: z.boolean().optional() }),
  z
    .strictObject({
      kind: z.literal("status"),
      status: z.int().min(200).max(599),
      retryAfterSeconds: z.int().min(0).max(86_400).optional(),
      problem: z.boolean().optional(),
      code: z.string().min(1).max(100).optional(),
      retryable: z.boolean().optional(),
      afterCommit: z.boolean().optional(),
    })
    .refine(({ status, problem }) => problem === false || status >= 400, {
      error: "a Problem's status is 400 to 599: say problem: false for another",
      path: ["status"],
    }),
  z.strictObject({ kind: z.literal("truncate") }),
  z.strictObject({
    kind: z.literal("body"),
    body: z.string(),
    contentType: z
      .string()
      .regex(/^[\x20-\x7e]{1,200}$/)
      .optional(),
    status: z.int().min(200).max(599).optional(),
  }),
  z.strictObject({ kind: z.literal("extra-field") }),
  z.strictObject({ kind: z.literal("unlisted-value") }),
  z.strictObject({ kind: z.literal("expire-token") }),
]);
export type Fault = z.infer<typeof Fault>;

export const FaultRequest = z.strictObject({
  operationId: z.enum([TOKEN_OPERATION, ...endpoints.map(({ id }) => id)]).optional(),
  times: z.int().min(1).max(1000).default(1),
  fault: Fault,
});
export type FaultRequest = z.infer<typeof FaultRequest>;

export class FaultQueue {
  #queue: { readonly operationId: string | undefined; readonly fault: Fault; remaining: number }[] = [];

  get count(): number {
    return this.#queue.reduce((sum, { remaining }) => sum + remaining, 0);
  }

  add({ operationId, times, fault }: FaultRequest): boolean {
    if (this.count + times > MAX_QUEUED) return false;
    this.#queue.push({ operationId, fault, remaining: times });
    return true;
  }

  dequeue(operationId: string): Fault | undefined {
    const index = this.#queue.findIndex((entry) => (entry.operationId ?? operationId) === operationId);
    const entry = this.#queue[index];
    if (entry === undefined) return undefined;
    entry.remaining -= 1;
    if (entry.remaining === 0) this.#queue.splice(index, 1);
    return entry.fault;
  }

  clear(): void {
    this.#queue = [];
  }
}

/** The result for the client: a complete or truncated answer, a destroyed connection, or a connection that stays open. */
export type FaultOutcome =
  | { readonly kind: "answer"; readonly response: HttpResponse; readonly isTruncated?: true }
  | { readonly kind: "drop" }
  | { readonly kind: "hang" };

export function applyFaultBeforeExecution(
  fault: Fault | undefined,
  api: ApiName,
  requestId: string,
): FaultOutcome | undefined {
  if (fault?.kind === "drop-before") return { kind: "drop" };
  return fault?.kind === "status" && fault.afterCommit !== true
    ? { kind: "answer", response: createStatusResponse(fault, api, requestId) }
    : undefined;
}

export function applyFaultAfterCommit(
  fault: Fault | undefined,
  response: HttpResponse,
  api: ApiName,
  requestId: string,
): FaultOutcome {
  switch (fault?.kind) {
    case "drop-after":
      return { kind: "drop" };
    case "hang":
      return { kind: "hang" };
    case "status":
      return { kind: "answer", response: createStatusResponse(fault, api, requestId) };
    case "truncate":
      return { kind: "answer", response, isTruncated: true };
    case "body": {
      const { status = response.status, contentType = "application/json" } = fault;
      const headers = { ...response.headers, "Content-Type": contentType };
      return { kind: "answer", response: { status, headers, body: encodeUtf8(fault.body) } };
    }
    case "extra-field":
      return { kind: "answer", response: changeResource(response, addField) };
    case "unlisted-value":
      return { kind: "answer", response: changeResource(response, setUnlistedValue) };
    default:
      return { kind: "answer", response };
  }
}

function createStatusResponse(fault: Fault & { kind: "status" }, api: ApiName, requestId: string): HttpResponse {
  const { status, retryAfterSeconds } = fault;
  const headers: Readonly<Record<string, string>> =
    retryAfterSeconds === undefined ? {} : { "Retry-After": String(retryAfterSeconds) };
  if (fault.problem === false) return { status, headers, body: new Uint8Array() };
  // Section 7.1: a 429 of the playground always has Retry-After.
  if (api === "playground")
    return playgroundErrorResponse(status, { ...(status === 429 && { "Retry-After": "1" }), ...headers });
  if (api === "token")
    return oauthErrorResponse(
      fault.code ?? (status >= 500 ? "temporarily_unavailable" : "invalid_request"),
      "Injected fault",
      status,
      headers,
    );
  const retryable = fault.retryable ?? (status === 408 || status === 429 || status >= 500);
  const problem = createProblem(
    { status, title: "Injected fault", retryable },
    fault.code ?? "FAULT_ON_REQUEST",
    requestId,
  );
  return jsonResponse(status, problem, { "X-Request-Id": requestId, ...headers }, "application/problem+json");
}

type Fields = Readonly<Record<string, unknown>>;

const addField = (resource: Fields): Fields => ({ ...resource, emulatorExtraField: "not in the contract" });

/** The first of these that a resource has gets the value. */
const ENUM_FIELDS = ["state", "availability", "entitlementState", "environment"];
const UNLISTED = "EMULATOR_VALUE";

function setUnlistedValue(resource: Fields): Fields {
  const field = ENUM_FIELDS.find((name) => name in resource);
  return field === undefined ? resource : { ...resource, [field]: UNLISTED };
}

/** Changes the resource: `data` or its first item, the first state or district, or else the top level. */
function changeResource(response: HttpResponse, change: (resource: Fields) => Fields): HttpResponse {
  if (!response.headers["Content-Type"]?.startsWith("application/json")) return response;
  const body = parse(new TextDecoder().decode(response.body));
  return isJsonObject(body) ? { ...response, body: encodeUtf8(stringify(changeBody(body, change)) ?? "") } : response;
}

function changeBody(body: Fields, change: (resource: Fields) => Fields): object {
  for (const name of ["data", "states", "districts"]) {
    const resource = body[name];
    if (isJsonObject(resource)) return { ...body, [name]: change(resource) };
    if (!Array.isArray(resource) || !isJsonObject(resource[0])) continue;
    return { ...body, [name]: [change(resource[0]), ...resource.slice(1)] };
  }
  return change(body);
}
