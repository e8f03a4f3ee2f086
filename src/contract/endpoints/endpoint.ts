// This module defines an endpoint: one row of docs/contract.md, 4, as data that the client, the tools and the emulator share.
import * as z from "zod/v4";
import type { Contradictions } from "../envelope.ts";

type Fields = z.ZodObject<z.ZodRawShape, z.core.$strict>;

/** The Idempotency-Key grammar of a POST endpoint (section 4.2, "Request headers on POST endpoints"). */
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
  /** Only for POST endpoints. */
  readonly body?: Fields;
  readonly idempotencyKey?: KeyGrammar;
  /** The endpoint takes `If-Match` with the job's current ETag. */
  readonly ifMatch?: true;
  /**
   * The fields of a success that name what the request names: JSON pointers into `data` or each of its items, with the names of the
   * request's parameters or body fields (open question 17).
   */
  readonly echoes?: Readonly<Record<string, string>>;
  /** The operation's own scope; absent on the playground, which is anonymous. */
  readonly scope?: string;
  /** The scopes to request at the token endpoint (section 5): the "additional permissions", then `scope`; empty without `scope`. */
  readonly scopesToRequest: readonly string[];
  readonly success: {
    readonly status: 200 | 201 | 202;
    /** The JSON body's schema, or "binary": raw bytes. */
    readonly body: z.ZodType | "binary";
    /** Returns in which ways such a body contradicts the contract's text. */
    contradictions?(body: unknown): Contradictions;
    /** Maximum number of JSON values in a conforming body (default: MAX_VALUES of src/api-client/parse-json.ts). */
    readonly maxValues?: number;
  };
}

/** An endpoint whose success has a JSON body of schema S. */
export interface JsonEndpoint<S extends z.ZodType = z.ZodType> extends Endpoint {
  readonly success: {
    readonly status: 200 | 201 | 202;
    readonly body: S;
    contradictions?(body: z.output<S>): Contradictions;
    readonly maxValues?: number;
  };
}

/** The schemas of the parameters and body fields of an endpoint. */
export type ParameterSchemas<E extends Endpoint> = E["pathParameters"]["shape"] &
  E["query"]["shape"] &
  (E["body"] extends Fields ? E["body"]["shape"] : unknown);

export type ParameterName<E extends Endpoint> = string & keyof ParameterSchemas<E>;

const noParameters = z.strictObject({});

/** The definition of an endpoint. Without `pathParameters` or `query`, the endpoint takes none. */
type EndpointDefinition = Omit<Endpoint, "api" | "pathParameters" | "query" | "scopesToRequest"> &
  Partial<Pick<Endpoint, "pathParameters" | "query">> & { readonly additionalPermissions?: readonly string[] };

/** An answer about a resource whose id is in the path repeats the id. */
type EchoesOf<R extends EndpointDefinition> = R extends { pathParameters: Fields; success: { body: z.ZodType } }
  ? Required<Pick<Endpoint, "echoes">>
  : object;

type DefinedEndpoint<R extends EndpointDefinition> = R &
  Pick<Endpoint, "api" | "scopesToRequest"> & {
    readonly pathParameters: R extends { pathParameters: infer P } ? P : typeof noParameters;
    readonly query: R extends { query: infer Q } ? Q : typeof noParameters;
  };

/** Returns a function that creates the endpoints of one API from their definitions, and the list of those endpoints. */
export function createEndpoints(api: Endpoint["api"]) {
  const endpoints: Endpoint[] = [];
  function define<const R extends EndpointDefinition>(row: R & EchoesOf<R>): DefinedEndpoint<R>;
  function define(row: EndpointDefinition): Endpoint {
    const { scope, additionalPermissions = [] } = row;
    const scopesToRequest = scope === undefined ? [] : [...additionalPermissions, scope];
    const endpoint = { pathParameters: noParameters, query: noParameters, ...row, api, scopesToRequest };
    endpoints.push(endpoint);
    return endpoint;
  }
  return { define, endpoints };
}

/** The path prefix of each API below `{base_url}`. */
export const API_PREFIX = { playground: "", "job-processing": "/sandbox" } as const;
export const TOKEN_PATH = "/sandbox/oauth/token";
