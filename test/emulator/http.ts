// A raw HTTP client for tests: paths are sent without normalization, and response bodies are kept byte for byte.
import { parse } from "lossless-json";
import { Agent } from "undici";
import { expect } from "vitest";
import { Problem } from "../../src/contract/problem.ts";

export type Method = "GET" | "POST" | "HEAD" | "PUT" | "PATCH" | "DELETE" | "OPTIONS";

export interface RawRequest {
  readonly method?: Method;
  /** Path and query as they are sent. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly signal?: AbortSignal;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly bytes: Uint8Array;
  readonly text: string;
}

export function createRawClient(baseUrl: string, options: Agent.Options = {}) {
  const agent = new Agent({ connections: 256, ...options });
  return async ({ method = "GET", path, headers = {}, body, signal }: RawRequest): Promise<Answer> => {
    const response = await agent.request({
      origin: new URL(baseUrl).origin,
      path,
      method,
      headers,
      body: body ?? null,
      signal: signal ?? null,
    });
    const bytes = await response.body.bytes();
    const flat = Object.entries(response.headers).map(([name, value]) => [name, value?.toString()]);
    const text = new TextDecoder().decode(bytes);
    return { status: response.statusCode, headers: Object.fromEntries(flat), bytes, text };
  };
}

const parseExactNumber = (digits: string): number | bigint =>
  /^-?\d+$/.test(digits) && !Number.isSafeInteger(Number(digits)) ? BigInt(digits) : Number(digits);

/** Parses JSON, with integers beyond 2^53-1 as bigint. The slower parser is used only if the text has 16 digits in a row. */
export const parseJson = (text: string): unknown =>
  /\d{16}/.test(text) ? parse(text, undefined, parseExactNumber) : JSON.parse(text);

export function valueAt(value: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (current, step) =>
      typeof current === "object" && current !== null
        ? Object.getOwnPropertyDescriptor(current, step)?.value
        : undefined,
    value,
  );
}

/** Expects an error of the job-processing API: this HTTP status, and a Problem as the body that contains the same status. */
export function expectProblem(answer: Answer, status: number): Problem {
  expect(answer.status, answer.text.slice(0, 500)).toBe(status);
  expect(answer.headers["content-type"]).toMatch(/^application\/problem\+json(;|$)/);
  const problem = Problem.parse(parseJson(answer.text));
  expect(problem.status).toBe(status);
  for (const { pointer } of problem.fieldErrors) expect(pointer).toMatch(/^(\/([^~/]|~[01])*)*$/);
  return problem;
}

export function expectPlaygroundError(answer: Answer, httpStatus: number, status: string): void {
  expect(answer.status, answer.text.slice(0, 500)).toBe(httpStatus);
  expect(answer.headers["content-type"]).toMatch(/^application\/json(;|$)/);
  expect(parseJson(answer.text)).toEqual({ status });
}
