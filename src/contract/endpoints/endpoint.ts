// What an endpoint is: one row of docs/contract.md, 4, as data that the client, the tools and the emulator share.
import * as z from "zod/v4";
import type { Contradictions } from "../contradictions.ts";

type Fields = z.ZodObject<z.ZodRawShape, z.core.$strict>;

/** Which Idempotency-Key grammar a POST endpoint has (section 4.2, "Request headers on POST endpoints"). */
export type KeyGrammar = "text" | "input" | "processing";

export interface Endpoint {
  /** The contract's operation id. */
  readonly id: string;
  readonly api: "playground" | "job-processing";
  readonly method: "GET" | "POST";
  /** Relative to the API's base, with `{name}` for path parameters. */
  readonly path: string;
  readonly pathParameters: Fields;
  readonly query: Fields;
  /** On POST endpoints only. */
  readonly body?: Fields;
  readonly idempotencyKey?: KeyGrammar;
  /** The endpoint takes `If-Match` with the job's current ETag. */
  readonly ifMatch?: true;
  /** The operation's own scope; absent on the playground, which is anonymous. */
  readonly scope?: string;
  /** "Additional permissions" of section 5: requested at the token endpoint together with the scope. */
  readonly additionalPermissions?: readonly string[];
  readonly success: {
    readonly status: 200 | 201 | 202;
    /** The JSON body's schema, or "binary": raw bytes. */
    readonly body: z.ZodType | "binary";
    /** What in such a body contradicts the contract's words. */
    contradictions?(body: unknown): Contradictions;
  };
}

/** An endpoint whose success carries a JSON body of schema S. */
export interface JsonEndpoint<S extends z.ZodType = z.ZodType> extends Endpoint {
  readonly success: {
    readonly status: 200 | 201 | 202;
    readonly body: S;
    contradictions?(body: z.output<S>): Contradictions;
  };
}

export const defineEndpoint = <const E extends Endpoint>(endpoint: E): E => endpoint;

/** No parameters: anything else is not allowed. */
export const none = z.strictObject({});

const scopesOf = new WeakMap<Endpoint, readonly string[]>();

/** What to ask the token endpoint for (section 5): additional permissions first, then the scope. One list for each endpoint. */
export function scopesToRequest(endpoint: Endpoint): readonly string[] {
  const known = scopesOf.get(endpoint);
  if (known) return known;
  const scopes = endpoint.scope === undefined ? [] : [...(endpoint.additionalPermissions ?? []), endpoint.scope];
  scopesOf.set(endpoint, scopes);
  return scopes;
}

/** Where each API lives below `{base_url}`. */
export const API_PREFIX = { playground: "", "job-processing": "/sandbox" } as const;
export const TOKEN_PATH = "/sandbox/oauth/token";
