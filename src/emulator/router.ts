// From a path and a method to an operation, made from the contract's endpoint table.
import { API_PREFIX, TOKEN_PATH } from "../contract/endpoints/endpoint.ts";
import { endpoints } from "../contract/endpoints/index.ts";
import { PLAYGROUND_ROOT } from "./assumptions.ts";

/** The name of the token endpoint among the operations. */
export const TOKEN_OPERATION = "token";

/** Which of the service's APIs a path belongs to: each has its own error bodies. */
export type Area = "playground" | "token" | "job-processing";

interface Route {
  readonly operationId: string;
  readonly method: string;
  readonly segments: readonly string[];
}

export interface Match {
  readonly operationId: string;
  /** Path parameters, percent-decoded. */
  readonly parameters: Readonly<Record<string, string>>;
}

export type Routed = Match | { readonly allow: string } | "unknown path";

const split = (path: string): readonly string[] => path.slice(1).split("/");

const ROUTES: readonly Route[] = [
  { operationId: TOKEN_OPERATION, method: "POST", segments: split(TOKEN_PATH) },
  ...endpoints.map(({ id, api, method, path }) => ({
    operationId: id,
    method,
    segments: split(API_PREFIX[api] + path),
  })),
];

const PLAYGROUND_SEGMENTS = split(PLAYGROUND_ROOT);
const TOKEN_SEGMENTS = split(TOKEN_PATH);

const startsWith = (segments: readonly string[], start: readonly string[]): boolean =>
  start.every((segment, index) => segments[index] === segment);

/** By the segments where they could be read, else by the path as it was sent. */
export function areaOf(segments: readonly string[]): Area {
  if (startsWith(segments, PLAYGROUND_SEGMENTS)) return "playground";
  return startsWith(segments, TOKEN_SEGMENTS) ? "token" : "job-processing";
}

const parameterName = (segment: string): string | undefined => /^\{(.+)\}$/.exec(segment)?.[1];

function match(route: Route, segments: readonly string[]): Match | undefined {
  if (segments.length !== route.segments.length) return undefined;
  const parameters: Record<string, string> = {};
  for (const [index, expected] of route.segments.entries()) {
    const segment = segments[index] ?? "";
    const name = parameterName(expected);
    if (name === undefined ? segment !== expected : segment === "") return undefined;
    if (name !== undefined) parameters[name] = segment;
  }
  return { operationId: route.operationId, parameters };
}

/** HEAD goes where GET goes (RFC 9110, 9.3.2). */
export function route(method: string, segments: readonly string[]): Routed {
  const asked = method === "HEAD" ? "GET" : method;
  const allowed: string[] = [];
  for (const candidate of ROUTES) {
    const found = match(candidate, segments);
    if (found === undefined) continue;
    if (candidate.method === asked) return found;
    allowed.push(...(candidate.method === "GET" ? ["GET", "HEAD"] : [candidate.method]));
  }
  return allowed.length === 0 ? "unknown path" : { allow: allowed.join(", ") };
}
