// Maps a path and a method to an operation, based on the contract's endpoint table.
import { API_PREFIX, TOKEN_PATH } from "../contract/endpoints/endpoint.ts";
import { endpoints } from "../contract/endpoints/index.ts";
import { PLAYGROUND_ROOT } from "./assumptions.ts";

export const TOKEN_OPERATION = "token";

/** The API that a path belongs to; each API has its own error bodies. */
export type ApiName = "playground" | "token" | "job-processing";

interface Route {
  readonly operationId: string;
  readonly method: string;
  readonly segments: readonly string[];
}

export interface RouteMatch {
  readonly operationId: string;
  /** Path parameters, percent-decoded. */
  readonly parameters: Readonly<Record<string, string>>;
}

export type RouteResult = RouteMatch | { readonly allow: string } | "unknown path";

const splitPath = (path: string): readonly string[] => path.slice(1).split("/");

const ROUTES: readonly Route[] = [
  { operationId: TOKEN_OPERATION, method: "POST", segments: splitPath(TOKEN_PATH) },
  ...endpoints.map(({ id, api, method, path }) => ({
    operationId: id,
    method,
    segments: splitPath(API_PREFIX[api] + path),
  })),
];

/** `segments`: the decoded segments if they are readable, else those of the path as it was sent. */
export function apiOfPath(segments: readonly string[]): ApiName {
  const isBelow = (root: string): boolean => splitPath(root).every((segment, index) => segments[index] === segment);
  if (isBelow(PLAYGROUND_ROOT)) return "playground";
  return isBelow(TOKEN_PATH) ? "token" : "job-processing";
}

function matchSegments(route: Route, segments: readonly string[]): RouteMatch | undefined {
  if (segments.length !== route.segments.length) return undefined;
  const parameters: Record<string, string> = {};
  for (const [index, expected] of route.segments.entries()) {
    const segment = segments[index] ?? "";
    const name = /^\{(.+)\}$/.exec(expected)?.[1];
    if (name === undefined ? segment !== expected : segment === "") return undefined;
    if (name !== undefined) parameters[name] = segment;
  }
  return { operationId: route.operationId, parameters };
}

/** Matches HEAD like GET (RFC 9110, 9.3.2). */
export function matchRoute(method: string, segments: readonly string[]): RouteResult {
  const requestedMethod = method === "HEAD" ? "GET" : method;
  const allowed: string[] = [];
  for (const candidate of ROUTES) {
    const found = matchSegments(candidate, segments);
    if (found === undefined) continue;
    if (candidate.method === requestedMethod) return found;
    allowed.push(...(candidate.method === "GET" ? ["GET", "HEAD"] : [candidate.method]));
  }
  return allowed.length === 0 ? "unknown path" : { allow: allowed.join(", ") };
}
