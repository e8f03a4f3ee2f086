// Serves the geography playground: anonymous, read-only and rate-limited. Every error body is {"status": …} (docs/contract.md, 7.1).
import { isIP } from "node:net";
import * as z from "zod/v4";
import * as endpoints from "../contract/endpoints/playground.ts";
import {
  DistrictsResponse,
  PLAYGROUND_CONTRACT,
  PLAYGROUND_STATUS,
  type PlaygroundError,
  StatesResponse,
} from "../contract/playground.ts";
import { BoundedMap } from "../core/bounded-map.ts";
import { once } from "../core/once.ts";
import { MAX_ENTRIES, PLAYGROUND_WINDOW_MS, REQUESTS_PER_REPORTED_ADDRESS } from "./assumptions.ts";
import { readCatalogue } from "./catalogue.ts";
import { type Clock, SECOND } from "./clock.ts";
import type { HttpRequest } from "./http/request.ts";
import { type HttpResponse, jsonResponse } from "./http/response.ts";
import { createOpenApiDocument } from "./openapi.ts";

/** An error on every request for the districts of a state. */
const DistrictsFailure = z.strictObject({
  status: z.int().min(400).max(599),
  retryAfterSeconds: z.int().min(1).max(86_400).optional(),
});
type DistrictsFailure = z.infer<typeof DistrictsFailure>;

/** Replaces parts of the answers for tests, such as names, codes and vintages. Omitted parts stay unchanged. */
export const GeographyVariant = z.strictObject({
  states: StatesResponse.optional(),
  /** By state code: an answer, a failure on every request, or null if the code no longer matches a state. */
  districts: z
    .record(z.string().regex(/^[A-Z]{2}$/), z.union([DistrictsResponse, DistrictsFailure, z.null()]))
    .optional(),
  /** The answer to a well-formed code that matches no state, which the contract does not show (open question 9). */
  unknownState: z.enum(["refused", "empty"]).optional(),
});
export type GeographyVariant = z.infer<typeof GeographyVariant>;

type ErrorValue = PlaygroundError["status"];

const ERROR_VALUES: Readonly<Record<number, ErrorValue>> = PLAYGROUND_STATUS;

/** Returns an error with the contract's value for its status. Any other status is an upstream's and is preserved (7.1). */
export const playgroundErrorResponse = (status: number, headers: Readonly<Record<string, string>> = {}): HttpResponse =>
  jsonResponse(status, { status: ERROR_VALUES[status] ?? PLAYGROUND_STATUS[502] } satisfies PlaygroundError, headers);

/** Converts the status of an error to the playground's: 403 if denied, 400 for any other invalid request, else 502 (assumptions.ts). */
export const playgroundRejection = (status: number): HttpResponse =>
  playgroundErrorResponse(status === 403 ? 403 : status < 500 ? 400 : 502);

export type Playground = ReturnType<typeof createPlayground>;

const invalidResponse = (): HttpResponse => playgroundErrorResponse(400);

const emptyListResponse = (): HttpResponse =>
  jsonResponse(200, { contract: PLAYGROUND_CONTRACT, state: "", districts: [] } satisfies DistrictsResponse);

const failureResponse = ({ status, retryAfterSeconds }: DistrictsFailure): HttpResponse =>
  playgroundErrorResponse(status, retryAfterSeconds === undefined ? {} : { "Retry-After": String(retryAfterSeconds) });

/** Returns the query as an object, or undefined if a parameter is repeated or malformed. */
function toQueryObject({ target }: HttpRequest): Readonly<Record<string, string>> | undefined {
  if (target.query === undefined) return undefined;
  const query = new Map(target.query);
  return query.size === target.query.length ? Object.fromEntries(query) : undefined;
}

/** Returns the client address that an edge reports: the last one in X-Forwarded-For, which the edge wrote itself. */
function reportedAddress(request: HttpRequest): string | undefined {
  const last = request.header("x-forwarded-for").join(",").split(",").at(-1)?.trim() ?? "";
  return isIP(last) === 0 ? undefined : last.toLowerCase();
}

/** A limit for a sliding window of one minute (docs/contract.md, 8). */
interface Limit {
  /** Undefined if this limit does not apply to the request. */
  readonly address: string | undefined;
  readonly max: number;
}

/** The function counts a request under each limit if all limits admit it; otherwise it returns the seconds until they do. */
function createRateLimit(clock: Clock) {
  /** The times of the admitted requests within the window, oldest first, by limit and address. */
  const admitted = new BoundedMap<string, readonly number[]>(MAX_ENTRIES.peers);
  return (limits: readonly Limit[]): { readonly retryAfterSeconds: number } | undefined => {
    const now = clock.now();
    const applied = limits.flatMap(({ address, max }) => {
      if (address === undefined) return [];
      const name = `${max} ${address}`;
      const times = (admitted.get(name) ?? []).filter((time) => time > now - PLAYGROUND_WINDOW_MS);
      return [{ name, times, fullUntil: (times.at(-max) ?? Number.NEGATIVE_INFINITY) + PLAYGROUND_WINDOW_MS }];
    });
    const fullUntil = Math.max(now, ...applied.map((limit) => limit.fullUntil));
    for (const { name, times } of applied) {
      // Inserted again, so that the oldest entry of the map is the address that was inactive longest.
      admitted.delete(name);
      admitted.set(name, fullUntil > now ? times : [...times, now]);
    }
    return fullUntil > now ? { retryAfterSeconds: Math.max(1, Math.ceil((fullUntil - now) / SECOND)) } : undefined;
  };
}

// Once for all emulators of this process.
const createDocumentResponse = once(() => jsonResponse(200, createOpenApiDocument()));
const createResponses = once(() => {
  const { states, districts } = readCatalogue();
  return {
    states: jsonResponse(200, states),
    districts: new Map([...districts].map(([code, response]) => [code, jsonResponse(200, response)])),
  };
});

/** `trustReportedAddress`: the last address in X-Forwarded-For is limited, too. */
export function createPlayground(clock: Clock, trustReportedAddress: boolean, requestsPerPeer: number) {
  const admit = createRateLimit(clock);
  const original = createResponses();
  let { states } = original;
  let districts = new Map(original.districts);
  let respondToUnknownState = invalidResponse;

  const respondWithDistricts = (query: Readonly<Record<string, string>>): HttpResponse => {
    const parsed = z.safeParse(endpoints.listPlaygroundDistricts.query, query);
    if (!parsed.success) return invalidResponse();
    return districts.get(parsed.data.state) ?? respondToUnknownState();
  };

  return {
    /** Returns a 429 if a limit is exceeded; otherwise counts the request. */
    checkRateLimit(request: HttpRequest): HttpResponse | undefined {
      const applicableLimits: readonly Limit[] = [
        { address: request.peer, max: requestsPerPeer },
        {
          address: trustReportedAddress ? reportedAddress(request) : undefined,
          max: REQUESTS_PER_REPORTED_ADDRESS,
        },
      ];
      const exceeded = admit(applicableLimits);
      return exceeded && playgroundErrorResponse(429, { "Retry-After": String(exceeded.retryAfterSeconds) });
    },
    handle(operationId: string, request: HttpRequest): HttpResponse {
      const query = toQueryObject(request);
      if (query === undefined || request.body.length > 0) return invalidResponse();
      if (operationId === endpoints.listPlaygroundDistricts.id) return respondWithDistricts(query);
      if (Object.keys(query).length > 0) return invalidResponse();
      if (operationId === endpoints.listPlaygroundStates.id) return states;
      return createDocumentResponse();
    },
    /** Replaces answers from now on; without a variant, restores the original answers. */
    setVariant(variant?: GeographyVariant): void {
      if (variant === undefined) {
        ({ states } = original);
        districts = new Map(original.districts);
        respondToUnknownState = invalidResponse;
      }
      if (variant?.states !== undefined) states = jsonResponse(200, variant.states);
      if (variant?.unknownState !== undefined)
        respondToUnknownState = variant.unknownState === "empty" ? emptyListResponse : invalidResponse;
      for (const [code, entry] of Object.entries(variant?.districts ?? {})) {
        if (entry === null) districts.delete(code);
        else districts.set(code, "status" in entry ? failureResponse(entry) : jsonResponse(200, entry));
      }
    },
  };
}
