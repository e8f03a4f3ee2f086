// The playground's three endpoints, each request under the one limiter and tried once; two of them with a cache.
import type * as z from "zod/v4";
import type { JsonEndpoint } from "../contract/endpoints/endpoint.ts";
import {
  getPlaygroundOpenApi,
  listPlaygroundDistricts,
  listPlaygroundStates,
} from "../contract/endpoints/playground.ts";
import type { DistrictsResponse, OpenApiDocument, StatesResponse } from "../contract/playground.ts";
import { Failure } from "../failure.ts";
import { ATTEMPT_LIMIT_MS, type CallContext, type Timing, withRetries } from "../service/attempts.ts";
import type { Service } from "../service/call.ts";
import type { CallRequest } from "../service/encode.ts";
import { CatalogueCache, type DatedAnswer } from "./cache.ts";
import { Limiter, type Permit } from "./limiter.ts";
import { SharedRequests } from "./shared-requests.ts";
import type { GeographyStore } from "./store.ts";

/** After a 429 that does not say for how long. */
const DEFAULT_RETRY_AFTER_SECONDS = 60;
/** With less time left than this, a request is not worth starting. */
const MARGIN_MS = 250;

export interface PlaygroundOptions {
  readonly service: Pick<Service, "call">;
  readonly perMinute: number;
  readonly timing: Timing;
  /** Ends everything that is under way. */
  readonly closing: AbortSignal;
  /** Where lists are kept for the processes that come after. */
  readonly store?: GeographyStore | undefined;
}

type GetPermit = (signal: AbortSignal) => Promise<Permit>;

export class PlaygroundReader {
  readonly limiter: Limiter;
  readonly cache: CatalogueCache;
  readonly #service: Pick<Service, "call">;
  readonly #timing: Timing;
  readonly #states = new SharedRequests<DatedAnswer<StatesResponse>>();
  readonly #districts = new SharedRequests<DatedAnswer<DistrictsResponse>>();
  readonly #documents = new SharedRequests<DatedAnswer<OpenApiDocument>>();

  constructor({ service, perMinute, timing, closing, store }: PlaygroundOptions) {
    this.#service = service;
    this.#timing = timing;
    this.limiter = new Limiter(perMinute, timing, closing);
    this.cache = new CatalogueCache(timing.now, store);
  }

  states(context: CallContext): Promise<DatedAnswer<StatesResponse>> {
    const read = async (signal: AbortSignal) => {
      const reading = await this.#once(listPlaygroundStates, {}, signal, this.#urgent(context));
      this.cache.keepStates(reading);
      return reading;
    };
    return this.#patiently(listPlaygroundStates, context, async () => {
      await this.cache.recallStates();
      return this.cache.states ?? (await this.#states.join("", context.signal, read));
    });
  }

  districts(code: string, context: CallContext): Promise<DatedAnswer<DistrictsResponse>> {
    return this.#patiently(listPlaygroundDistricts, context, () =>
      this.districtsOnce(code, context.signal, this.#urgent(context)),
    );
  }

  /** One attempt; a fresh reading or a request that is under way does as well. */
  async districtsOnce(code: string, signal: AbortSignal, permit: GetPermit): Promise<DatedAnswer<DistrictsResponse>> {
    const state = code.toUpperCase();
    await this.cache.recallDistricts([state]);
    const known = this.cache.districtsOf(state);
    if (known !== undefined) return known;
    return await this.#districts.join(state, signal, async (flightSignal) => {
      const reading = await this.#once(listPlaygroundDistricts, { query: { state } }, flightSignal, permit);
      this.cache.keepDistricts(state, reading);
      return reading;
    });
  }

  openApi(context: CallContext): Promise<DatedAnswer<OpenApiDocument>> {
    return this.#patiently(getPlaygroundOpenApi, context, () =>
      this.#documents.join("", context.signal, (signal) =>
        this.#once(getPlaygroundOpenApi, {}, signal, this.#urgent(context)),
      ),
    );
  }

  #urgent({ deadlineAt }: CallContext): GetPermit {
    return (signal) => this.limiter.acquire({ signal, isUrgent: true, untilAt: deadlineAt - MARGIN_MS });
  }

  /** As the service's own policy has it, but with each attempt under the limiter. */
  #patiently<T>(endpoint: JsonEndpoint, context: CallContext, once: () => Promise<T>): Promise<T> {
    return withRetries({ endpoint, context, timing: this.#timing }, once);
  }

  async #once<S extends z.ZodType>(
    endpoint: JsonEndpoint<S>,
    request: CallRequest,
    signal: AbortSignal,
    getPermit: GetPermit,
  ): Promise<DatedAnswer<z.output<S>>> {
    const permit = await getPermit(signal);
    const readAt = this.#timing.now();
    try {
      const context = { signal, deadlineAt: readAt + ATTEMPT_LIMIT_MS, maxAttempts: 1 };
      const { value, drift } = await this.#service.call(endpoint, request, context);
      return { value, drift, readAt };
    } catch (error) {
      if (error instanceof Failure && error.facts.status === 429)
        this.limiter.pauseFor(error.facts.retryAfterSeconds ?? DEFAULT_RETRY_AFTER_SECONDS);
      throw error;
    } finally {
      permit.end();
    }
  }
}
