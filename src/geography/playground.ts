// The playground's three endpoints: each request within the rate limit and sent once, the lists from the cache if they are fresh.
import type * as z from "zod/v4";
import { ATTEMPT_LIMIT_MS, type CallContext, type Timing, withRetries } from "../api-client/attempts.ts";
import type { ApiClient } from "../api-client/client.ts";
import type { CallRequest } from "../api-client/encode.ts";
import type { JsonEndpoint } from "../contract/endpoints/endpoint.ts";
import {
  getPlaygroundOpenApi,
  listPlaygroundDistricts,
  listPlaygroundStates,
} from "../contract/endpoints/playground.ts";
import type { DistrictsResponse, OpenApiDocument, StatesResponse } from "../contract/playground.ts";
import { withAbortSignal } from "../core/async.ts";
import { excerpt } from "../core/untrusted-text.ts";
import { type CatalogueCache, type DatedAnswer, STATES } from "./cache.ts";
import type { Limiter } from "./limiter.ts";
import { MAX_NAME } from "./names/fold.ts";
import type { GeographyStore } from "./store.ts";

/** A request is not worth starting with less time left. */
const MARGIN_MS = 250;
/** How often a call looks for a list that another process is reading. */
const PEER_LOOK_MS = 150;

export interface PlaygroundParts {
  readonly service: Pick<ApiClient, "call">;
  readonly limiter: Limiter;
  readonly cache: CatalogueCache;
  readonly store: GeographyStore;
  readonly timing: Timing;
}

/** One list: how it is found in the cache, and how it is read. */
interface ListReading<T> {
  readonly endpoint: JsonEndpoint;
  readonly name: string;
  readonly requests: SharedRequests<DatedAnswer<T>>;
  readonly recall: () => Promise<DatedAnswer<T> | undefined>;
  readonly read: (signal: AbortSignal) => Promise<DatedAnswer<T>>;
}

/** The contract sets no maximum length for names (docs/contract.md, 2.1). */
const withShortName = <T extends { readonly name: string }>(item: T): T => ({
  ...item,
  name: excerpt(item.name, MAX_NAME),
});

export class PlaygroundReader {
  readonly #parts: PlaygroundParts;
  readonly #states = new SharedRequests<DatedAnswer<StatesResponse>>();
  readonly #districts = new SharedRequests<DatedAnswer<DistrictsResponse>>();
  readonly #documents = new SharedRequests<DatedAnswer<OpenApiDocument>>();

  constructor(parts: PlaygroundParts) {
    this.#parts = parts;
  }

  states(context: CallContext): Promise<DatedAnswer<StatesResponse>> {
    const { cache } = this.#parts;
    return this.#list(context, {
      endpoint: listPlaygroundStates,
      name: STATES,
      requests: this.#states,
      recall: () => cache.recallStates(),
      read: async (signal) => {
        const { value, ...dated } = await this.#send(listPlaygroundStates, {}, context, signal);
        const reading = { ...dated, value: { ...value, states: value.states.map(withShortName) } };
        await cache.keepStates(reading);
        return reading;
      },
    });
  }

  /** `isDirect`: a call waits for it; otherwise it is the prefetch's. */
  districts(code: string, context: CallContext, isDirect = true): Promise<DatedAnswer<DistrictsResponse>> {
    const { cache } = this.#parts;
    const state = code.toUpperCase();
    const request = { query: { state } };
    return this.#list(context, {
      endpoint: listPlaygroundDistricts,
      name: state,
      requests: this.#districts,
      recall: async () => {
        await cache.recallDistricts([state]);
        return cache.districtsOf(state);
      },
      read: async (signal) => {
        const { value, ...dated } = await this.#send(listPlaygroundDistricts, request, context, signal, isDirect);
        const districts = value.districts.map(withShortName);
        const reading = { ...dated, value: { ...value, state: excerpt(value.state, MAX_NAME), districts } };
        await cache.keepDistricts(state, reading);
        return reading;
      },
    });
  }

  openApi(context: CallContext): Promise<DatedAnswer<OpenApiDocument>> {
    const { timing } = this.#parts;
    return withRetries({ endpoint: getPlaygroundOpenApi, context, timing }, () =>
      this.#documents.join("", context.signal, (signal) => this.#send(getPlaygroundOpenApi, {}, context, signal)),
    );
  }

  /** Reads a list that is not fresh, unless another process is reading it: then its result is used. */
  #list<T>(context: CallContext, { endpoint, name, requests, recall, read }: ListReading<T>): Promise<DatedAnswer<T>> {
    const { store, timing } = this.#parts;
    async function readOnce(signal: AbortSignal): Promise<DatedAnswer<T>> {
      while (!(await store.acquire(name))) {
        await timing.sleep(PEER_LOOK_MS, signal);
        const found = await recall();
        if (found !== undefined) return found;
      }
      try {
        // Another process may have read it between the first look and the lease.
        return (await recall()) ?? (await read(signal));
      } finally {
        await store.release(name);
      }
    }
    return withRetries(
      { endpoint, context, timing },
      async () => (await recall()) ?? (await requests.join(name, context.signal, readOnce)),
    );
  }

  #send<S extends z.ZodType>(
    endpoint: JsonEndpoint<S>,
    request: CallRequest,
    { deadlineAt }: CallContext,
    signal: AbortSignal,
    isDirect = true,
  ): Promise<DatedAnswer<z.output<S>>> {
    const { service, limiter, timing } = this.#parts;
    const send = async () => {
      const readAt = timing.now();
      const context = { signal, deadlineAt: readAt + ATTEMPT_LIMIT_MS, maxAttempts: 1 };
      const { value, drift } = await service.call(endpoint, request, context);
      return { value, drift, readAt };
    };
    return limiter.run(send, signal, deadlineAt - MARGIN_MS, isDirect);
  }
}

interface SharedRequest<T> {
  readonly answer: Promise<T>;
  readonly controller: AbortController;
  waiting: number;
}

/** One request for each key, shared by all callers that ask for it meanwhile; aborted when the last of them stops waiting. */
class SharedRequests<T> {
  readonly #requests = new Map<string, SharedRequest<T>>();

  async join(key: string, signal: AbortSignal, start: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const request = this.#requests.get(key) ?? this.#start(key, start);
    request.waiting += 1;
    try {
      return await withAbortSignal(request.answer, signal);
    } finally {
      request.waiting -= 1;
      if (request.waiting === 0) {
        if (this.#requests.get(key) === request) this.#requests.delete(key);
        request.controller.abort();
      }
    }
  }

  #start(key: string, start: (signal: AbortSignal) => Promise<T>): SharedRequest<T> {
    const controller = new AbortController();
    const request = { answer: start(controller.signal), controller, waiting: 0 };
    this.#requests.set(key, request);
    return request;
  }
}
