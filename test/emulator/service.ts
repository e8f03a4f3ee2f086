// The service from the view of an authenticated caller, whose calls are well-formed unless a test changes a part.
import { test as base, expect } from "vitest";
import * as z from "zod/v4";
import type { Emulator, EmulatorOptions } from "../../src/emulator/index.ts";
import type { OperationRow } from "../operations.ts";
import { createManualClock, emulatorForFile, emulatorForTest, type ManualClock } from "../support/emulator.ts";
import { type Answer, createRawClient, type Method, parseJson, type RawRequest } from "./http.ts";

export interface Parts {
  readonly method?: Method;
  /** Path parameters, before percent-encoding. */
  readonly path?: Readonly<Record<string, string>>;
  /** Query pairs before encoding, or the raw query string. */
  readonly query?: Readonly<Record<string, string | number>> | string;
  /** Sent as JSON; a string or bytes are sent unchanged. */
  readonly body?: unknown;
  readonly key?: string;
  readonly ifMatch?: string;
  /** Added to the default headers; undefined removes a default one. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** Scopes to request instead of those of the operation. */
  readonly scopes?: readonly string[];
  readonly signal?: AbortSignal;
}

const TokenAnswer = z.looseObject({ access_token: z.string().min(1), expires_in: z.number().optional() });
const Executions = z.array(
  z.object({ operationId: z.string(), idempotencyKey: z.string().nullable().optional(), executions: z.number() }),
);

const Requests = z.array(
  z.looseObject({ operationId: z.string().nullable(), path: z.string(), idempotencyKey: z.string().optional() }),
);

let keys = 0;
/** A new key that matches all three key grammars of section 4.2. */
export const nextKey = (): string => `key-${String(++keys).padStart(8, "0")}`;

export const basic = (id: string, secret: string): string =>
  `Basic ${Buffer.from(`${id}:${secret}`).toString("base64")}`;

export function fillPath(template: string, values: Readonly<Record<string, string>>): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`the test gives no ${name} for ${template}`);
    return encodeURIComponent(value);
  });
}

const withoutUndefined = (headers: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));

const bodyBytes = (body: unknown): string | Uint8Array =>
  typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body);

export class Service {
  readonly emulator: Emulator;
  readonly clock: ManualClock;
  readonly #send: (request: RawRequest) => Promise<Answer>;
  readonly #tokens = new Map<string, { token: string; untilMs: number }>();

  constructor(emulator: Emulator, clock: ManualClock) {
    this.emulator = emulator;
    this.clock = clock;
    this.#send = createRawClient(emulator.baseUrl);
  }

  /** Sends a request, and checks that the response does not contain the client secret (section 5, rule 1). */
  async send(request: RawRequest): Promise<Answer> {
    const answer = await this.#send(request);
    if (answer.text.includes(this.emulator.clientSecret)) throw new Error(`${request.path} gave the secret away`);
    return answer;
  }

  /** The query of a list or of the usage of the own workspace. */
  inWorkspace(query: Readonly<Record<string, string | number>> = {}): Parts {
    return { query: { workspaceId: this.emulator.workspaceId, ...query } };
  }

  /** Discards all tokens, so that the next calls request new ones. For use after the tokens have expired. */
  forgetTokens(): void {
    this.#tokens.clear();
  }

  requestToken(form: string, headers: Readonly<Record<string, string | undefined>> = {}): Promise<Answer> {
    return this.send({
      method: "POST",
      path: "/sandbox/oauth/token",
      headers: withoutUndefined({
        authorization: basic(this.emulator.clientId, this.emulator.clientSecret),
        "content-type": "application/x-www-form-urlencoded",
        ...headers,
      }),
      body: form,
    });
  }

  /** A token with exactly these scopes, reused until it expires. */
  async token(scopes: readonly string[]): Promise<string> {
    const scope = scopes.join(" ");
    const cached = this.#tokens.get(scope);
    if (cached !== undefined && cached.untilMs > this.clock.now()) return cached.token;
    const answer = await this.requestToken(new URLSearchParams({ grant_type: "client_credentials", scope }).toString());
    expect(answer.status, answer.text).toBe(200);
    const { access_token: token, expires_in: lifeSeconds = 60 } = TokenAnswer.parse(parseJson(answer.text));
    this.#tokens.set(scope, { token, untilMs: this.clock.now() + lifeSeconds * 1000 });
    return token;
  }

  async call(operation: OperationRow, parts: Parts = {}): Promise<Answer> {
    const isPost = operation.method === "POST";
    const authorization =
      operation.scopes.length === 0 || (parts.headers !== undefined && "authorization" in parts.headers)
        ? undefined
        : `Bearer ${await this.token(parts.scopes ?? operation.scopes)}`;
    const query =
      typeof parts.query === "object"
        ? new URLSearchParams(
            Object.entries(parts.query).map(([name, value]): [string, string] => [name, String(value)]),
          ).toString()
        : parts.query;
    return this.send({
      method: parts.method ?? operation.method,
      path: fillPath(operation.path, parts.path ?? {}) + (query === undefined ? "" : `?${query}`),
      headers: withoutUndefined({
        accept: operation.answer === undefined ? "application/octet-stream" : "application/json",
        authorization,
        "content-type": isPost ? "application/json" : undefined,
        "idempotency-key": isPost ? (parts.key ?? nextKey()) : undefined,
        "if-match": parts.ifMatch,
        ...parts.headers,
      }),
      ...(parts.body === undefined ? {} : { body: bodyBytes(parts.body) }),
      ...(parts.signal === undefined ? {} : { signal: parts.signal }),
    });
  }

  /** A call that must succeed: with the status of the table, JSON, and the contract's strict schema. */
  async ok<A extends z.ZodType>(operation: OperationRow & { answer: A }, parts: Parts = {}): Promise<z.output<A>> {
    return expectSuccess(operation, await this.call(operation, parts));
  }

  async admin(method: "GET" | "POST" | "DELETE", path: string, body?: unknown): Promise<unknown> {
    const text = await this.#adminText(method, path, body);
    return text === "" ? undefined : parseJson(text);
  }

  async #adminText(method: "GET" | "POST" | "DELETE", path: string, body?: unknown): Promise<string> {
    const answer = await this.send({
      method,
      path: `/__emulator/${path}`,
      ...(body === undefined ? {} : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
    });
    expect(answer.status, answer.text).toBeLessThan(300);
    return answer.text;
  }

  injectFault(fault: Readonly<Record<string, unknown>>, target: { operationId?: string; times?: number } = {}) {
    return this.admin("POST", "faults", { ...target, fault });
  }

  async requests(operationId?: string): Promise<z.infer<typeof Requests>> {
    const all = Requests.parse(JSON.parse(await this.#adminText("GET", "requests")));
    return operationId === undefined ? all : all.filter((each) => each.operationId === operationId);
  }

  async countEffects(operationId: string): Promise<number> {
    return Executions.parse(JSON.parse(await this.#adminText("GET", "executions")))
      .filter((each) => each.operationId === operationId)
      .reduce((sum, { executions }) => sum + executions, 0);
  }

  async countExecutions(key: string): Promise<number> {
    const text = await this.#adminText("GET", "executions");
    // Most calls ask for a key without executions, and the list can be long, so this check saves parsing it.
    if (!text.includes(JSON.stringify(key))) return 0;
    return Executions.parse(JSON.parse(text))
      .filter(({ idempotencyKey }) => idempotencyKey === key)
      .reduce((sum, { executions }) => sum + executions, 0);
  }
}

export function expectSuccess<A extends z.ZodType>(
  operation: OperationRow & { answer: A },
  answer: Answer,
): z.output<A> {
  expect(answer.status, `${operation.id}: ${answer.text.slice(0, 500)}`).toBe(operation.success);
  expect(answer.headers["content-type"]).toMatch(/^application\/json(;|$)/);
  return operation.answer.parse(parseJson(answer.text));
}

/** A service for the running test only. */
export async function serviceForTest(options: EmulatorOptions = {}): Promise<Service> {
  const clock = createManualClock();
  return new Service(await emulatorForTest({ clock, ...options }), clock);
}

/** A service for all tests of a file; call it at the top level. */
export function serviceForFile(options: EmulatorOptions = {}): () => Service {
  const clock = createManualClock();
  return emulatorForFile({ clock, ...options }, (emulator) => new Service(emulator, clock));
}

/** `service` is a service for a test that names it only. */
export const test = base.extend("service", async () => await serviceForTest());
