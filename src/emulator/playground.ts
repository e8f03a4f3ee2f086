// The geography playground: anonymous, read-only, limited by rate; every error body is exactly {"status": …} (7.1).
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
import { MAX_ENTRIES, PLAYGROUND_WINDOW_MS, REQUESTS_PER_REPORTED_ADDRESS } from "./assumptions.ts";
import { type Clock, SECOND } from "./clock.ts";
import { createCatalogue } from "./geography/catalogue.ts";
import type { HttpRequest } from "./http/request.ts";
import { type HttpResponse, jsonResponse } from "./http/response.ts";
import { createOpenApiDocument } from "./openapi.ts";

/** Replaces parts of the answers on request, for tests: other names, codes and vintages, states that fail. */
const DistrictsFailure = z.strictObject({
  status: z.int().min(400).max(599),
  retryAfterSeconds: z.int().min(1).max(86_400).optional(),
});
type DistrictsFailure = z.infer<typeof DistrictsFailure>;

/** Each part replaces its own; what is left out stays as it is. */
export const GeographyVariant = z.strictObject({
  states: StatesResponse.optional(),
  /** By state code: an answer of its own, a failure every time, or null for a code that is known no longer. */
  districts: z
    .record(z.string().regex(/^[A-Z]{2}$/), z.union([DistrictsResponse, DistrictsFailure, z.null()]))
    .optional(),
  /** How a well-formed code of no state is answered; not shown in the contract (doubt 9). */
  unknownState: z.enum(["refused", "empty"]).optional(),
});
export type GeographyVariant = z.infer<typeof GeographyVariant>;

type ErrorValue = PlaygroundError["status"];

const ERROR_VALUES: Readonly<Record<number, ErrorValue>> = PLAYGROUND_STATUS;

/** An error with the contract's value for its status; any other is an upstream's, preserved (7.1). */
export const playgroundErrorResponse = (status: number, headers: Readonly<Record<string, string>> = {}): HttpResponse =>
  jsonResponse(status, { status: ERROR_VALUES[status] ?? PLAYGROUND_STATUS[502] } satisfies PlaygroundError, headers);

/** A request that this playground itself refuses is an invalid one, for any reason (choices.ts), if it may come in. */
export const playgroundRejection = (status: number): HttpResponse =>
  playgroundErrorResponse(status === 403 ? 403 : status < 500 ? 400 : 502);

export interface Playground {
  /** A 429 when a limit is exceeded; counts the request otherwise. */
  checkRateLimit(request: HttpRequest): HttpResponse | undefined;
  handle(operationId: string, request: HttpRequest): HttpResponse;
  /** Answers otherwise from now on; without a variant as at the start. */
  setVariant(variant?: GeographyVariant): void;
}

const invalidResponse = (): HttpResponse => playgroundErrorResponse(400);

const emptyListResponse = (): HttpResponse =>
  jsonResponse(200, { contract: PLAYGROUND_CONTRACT, state: "", districts: [] } satisfies DistrictsResponse);

const failureResponse = ({ status, retryAfterSeconds }: DistrictsFailure): HttpResponse =>
  playgroundErrorResponse(status, retryAfterSeconds === undefined ? {} : { "Retry-After": String(retryAfterSeconds) });

/** The query as an object; undefined when a parameter is repeated or cannot be read. */
function toQueryObject({ target }: HttpRequest): Readonly<Record<string, string>> | undefined {
  if (target.query === undefined) return undefined;
  const query = new Map(target.query);
  return query.size === target.query.length ? Object.fromEntries(query) : undefined;
}

/** The client address that an edge reports: the last one in X-Forwarded-For, which the edge itself wrote. */
function reportedAddress(request: HttpRequest): string | undefined {
  const last = request.header("x-forwarded-for").join(",").split(",").at(-1)?.trim() ?? "";
  return isIP(last) === 0 ? undefined : last.toLowerCase();
}

/** Sliding-window limits (docs/contract.md, 8). */
interface Limit {
  /** Undefined: this limit does not apply to the request. */
  readonly address: string | undefined;
  readonly max: number;
}

class RateLimit {
  /** The times of the admitted requests within the window, oldest first, by limit and address. */
  readonly #admitted = new BoundedMap<string, readonly number[]>(MAX_ENTRIES.peers);
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts the request under each limit if all admit it; otherwise returns after how many seconds they will. */
  admit(limits: readonly Limit[]): { readonly retryAfterSeconds: number } | undefined {
    const now = this.#clock.now();
    const applied = limits.flatMap(({ address, max }) => {
      if (address === undefined) return [];
      const name = `${max} ${address}`;
      const times = (this.#admitted.get(name) ?? []).filter((time) => time > now - PLAYGROUND_WINDOW_MS);
      return [{ name, times, fullUntil: (times.at(-max) ?? Number.NEGATIVE_INFINITY) + PLAYGROUND_WINDOW_MS }];
    });
    const fullUntil = Math.max(now, ...applied.map((limit) => limit.fullUntil));
    for (const { name, times } of applied) {
      // The oldest entry of the map is the address with the longest silence.
      this.#admitted.delete(name);
      this.#admitted.set(name, fullUntil > now ? times : [...times, now]);
    }
    return fullUntil > now ? { retryAfterSeconds: Math.max(1, Math.ceil((fullUntil - now) / SECOND)) } : undefined;
  }
}

interface PlaygroundLimits {
  /** X-Forwarded-For is believed, and each address in it is limited. */
  readonly trustReportedAddress: boolean;
  readonly requestsPerPeer: number;
}

export function createPlayground(
  clock: Clock,
  { trustReportedAddress, requestsPerPeer }: PlaygroundLimits,
): Playground {
  const catalogue = createCatalogue();
  const limits = new RateLimit(clock);
  const defaultStates = jsonResponse(200, catalogue.states);
  const defaultDistricts = new Map(
    [...catalogue.districts].map(([code, response]) => [code, jsonResponse(200, response)]),
  );
  let states = defaultStates;
  let districts = new Map(defaultDistricts);
  let respondToUnknownState = invalidResponse;
  let document: HttpResponse | undefined;

  const respondWithDistricts = (query: Readonly<Record<string, string>>): HttpResponse => {
    const parsed = z.safeParse(endpoints.listPlaygroundDistricts.query, query);
    if (!parsed.success) return invalidResponse();
    return districts.get(parsed.data.state) ?? respondToUnknownState();
  };

  return {
    checkRateLimit(request) {
      const applicableLimits: readonly Limit[] = [
        { address: request.peer, max: requestsPerPeer },
        {
          address: trustReportedAddress ? reportedAddress(request) : undefined,
          max: REQUESTS_PER_REPORTED_ADDRESS,
        },
      ];
      const exceeded = limits.admit(applicableLimits);
      return exceeded && playgroundErrorResponse(429, { "Retry-After": String(exceeded.retryAfterSeconds) });
    },
    handle(operationId, request) {
      const query = toQueryObject(request);
      if (query === undefined || request.body.length > 0) return invalidResponse();
      if (operationId === endpoints.listPlaygroundDistricts.id) return respondWithDistricts(query);
      if (Object.keys(query).length > 0) return invalidResponse();
      if (operationId === endpoints.listPlaygroundStates.id) return states;
      document ??= jsonResponse(200, createOpenApiDocument());
      return document;
    },
    setVariant(variant) {
      if (variant === undefined) {
        states = defaultStates;
        districts = new Map(defaultDistricts);
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
