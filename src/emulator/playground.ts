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
import { MAX_KEPT, PLAYGROUND_WINDOW_MS, REQUESTS_PER_REPORTED_ADDRESS } from "./assumptions.ts";
import { type Clock, SECOND } from "./clock.ts";
import { makeCatalogue } from "./geography/catalogue.ts";
import { type Answer, jsonAnswer } from "./http/answer.ts";
import type { HttpRequest } from "./http/request.ts";
import { makeOpenApiDocument } from "./openapi.ts";

/** Replaces parts of the answers on request, for tests: other names, codes and vintages, states that fail. */
const Failing = z.strictObject({
  status: z.int().min(400).max(599),
  retryAfterSeconds: z.int().min(1).max(86_400).optional(),
});
type Failing = z.infer<typeof Failing>;

/** Each part replaces its own; what is left out stays as it is. */
export const GeographyVariant = z.strictObject({
  states: StatesResponse.optional(),
  /** By state code: an answer of its own, a failure every time, or null for a code that is known no longer. */
  districts: z.record(z.string().regex(/^[A-Z]{2}$/), z.union([DistrictsResponse, Failing, z.null()])).optional(),
  /** How a well-formed code of no state is answered; not shown in the contract (doubt 9). */
  unknownState: z.enum(["refused", "empty"]).optional(),
});
export type GeographyVariant = z.infer<typeof GeographyVariant>;

type ErrorValue = PlaygroundError["status"];

const ERROR_VALUES: Readonly<Record<number, ErrorValue>> = PLAYGROUND_STATUS;

/** An error with the contract's value for its status; any other is an upstream's, preserved (7.1). */
export const playgroundError = (status: number, headers: Readonly<Record<string, string>> = {}): Answer =>
  jsonAnswer(status, { status: ERROR_VALUES[status] ?? PLAYGROUND_STATUS[502] } satisfies PlaygroundError, headers);

/** A request that this playground itself refuses is an invalid one, for any reason (choices.ts), if it may come in. */
export const playgroundRefusal = (status: number): Answer =>
  playgroundError(status === 403 ? 403 : status < 500 ? 400 : 502);

export interface Playground {
  /** A 429 when a limit is exceeded; counts the request otherwise. */
  limit(request: HttpRequest): Answer | undefined;
  answer(operationId: string, request: HttpRequest): Answer;
  /** Answers otherwise from now on; without a variant as at the start. */
  vary(variant?: GeographyVariant): void;
}

const invalid = (): Answer => playgroundError(400);

const emptyList = (): Answer =>
  jsonAnswer(200, { contract: PLAYGROUND_CONTRACT, state: "", districts: [] } satisfies DistrictsResponse);

const failing = ({ status, retryAfterSeconds }: Failing): Answer =>
  playgroundError(status, retryAfterSeconds === undefined ? {} : { "Retry-After": String(retryAfterSeconds) });

/** The query as an object; undefined when a parameter is repeated or cannot be read. */
function queryOf({ target }: HttpRequest): Readonly<Record<string, string>> | undefined {
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
  readonly #admitted = new BoundedMap<string, readonly number[]>(MAX_KEPT.peers);
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

export function makePlayground(clock: Clock, { trustReportedAddress, requestsPerPeer }: PlaygroundLimits): Playground {
  const catalogue = makeCatalogue();
  const limits = new RateLimit(clock);
  const ownStates = jsonAnswer(200, catalogue.states);
  const ownDistricts = new Map([...catalogue.districts].map(([code, response]) => [code, jsonAnswer(200, response)]));
  let states = ownStates;
  let districts = new Map(ownDistricts);
  let unknownState = invalid;
  let document: Answer | undefined;

  const districtsAnswer = (query: Readonly<Record<string, string>>): Answer => {
    const parsed = z.safeParse(endpoints.listPlaygroundDistricts.query, query);
    if (!parsed.success) return invalid();
    return districts.get(parsed.data.state) ?? unknownState();
  };

  return {
    limit(request) {
      const both: readonly Limit[] = [
        { address: request.peer, max: requestsPerPeer },
        {
          address: trustReportedAddress ? reportedAddress(request) : undefined,
          max: REQUESTS_PER_REPORTED_ADDRESS,
        },
      ];
      const refused = limits.admit(both);
      return refused && playgroundError(429, { "Retry-After": String(refused.retryAfterSeconds) });
    },
    answer(operationId, request) {
      const query = queryOf(request);
      if (query === undefined || request.body.length > 0) return invalid();
      if (operationId === endpoints.listPlaygroundDistricts.id) return districtsAnswer(query);
      if (Object.keys(query).length > 0) return invalid();
      if (operationId === endpoints.listPlaygroundStates.id) return states;
      document ??= jsonAnswer(200, makeOpenApiDocument());
      return document;
    },
    vary(variant) {
      if (variant === undefined) {
        states = ownStates;
        districts = new Map(ownDistricts);
        unknownState = invalid;
      }
      if (variant?.states !== undefined) states = jsonAnswer(200, variant.states);
      if (variant?.unknownState !== undefined) unknownState = variant.unknownState === "empty" ? emptyList : invalid;
      for (const [code, entry] of Object.entries(variant?.districts ?? {})) {
        if (entry === null) districts.delete(code);
        else districts.set(code, "status" in entry ? failing(entry) : jsonAnswer(200, entry));
      }
    },
  };
}
