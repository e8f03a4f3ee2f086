// Reads the playground's three endpoints within the rate limit. Concurrent callers share one request, and fresh lists come from
// the cache.
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
import { type CatalogCache, type DatedResponse, STATES_ENTRY } from "./cache.ts";
import type { Limiter } from "./limiter.ts";
import { MAX_NAME_LENGTH } from "./names/name-forms.ts";
import type { GeographyStore } from "./store.ts";

/** With less time left than this, a request is not worth starting. */
const MIN_REQUEST_MS = 250;
/** Interval at which a call looks for a list that another process is reading. */
const PEER_POLL_INTERVAL_MS = 150;

export interface PlaygroundDependencies {
  readonly service: Pick<ApiClient, "call">;
  readonly limiter: Limiter;
  readonly cache: CatalogCache;
  readonly store: GeographyStore;
  readonly timing: Timing;
  /** Aborts all requests when the program ends. */
  readonly closing: AbortSignal;
}

type SharedRequests<T> = (key: string, signal: AbortSignal, start: () => Promise<T>) => Promise<T>;

/**
 * Shares one request among all concurrent callers that need the same key. The request continues if its callers are canceled, because the
 * next call needs the list.
 */
function createSharedRequests<T>(): SharedRequests<T> {
  const inFlight = new Map<string, Promise<T>>();
  return (key, signal, start) => {
    const request = inFlight.get(key) ?? start().finally(() => inFlight.delete(key));
    inFlight.set(key, request);
    return withAbortSignal(request, signal);
  };
}

/** How one list is found in the cache, and how it is read from the API. */
interface ListSource<T> {
  readonly endpoint: JsonEndpoint;
  readonly name: string;
  readonly requests: SharedRequests<DatedResponse<T>>;
  readonly load: () => Promise<DatedResponse<T> | undefined>;
  readonly read: () => Promise<DatedResponse<T>>;
}

/** The contract sets no maximum length for names (docs/contract.md, 2.1), so long names are truncated. */
const truncateName = <T extends { readonly name: string }>(item: T): T => ({
  ...item,
  name: excerpt(item.name, MAX_NAME_LENGTH),
});

export type PlaygroundReader = ReturnType<typeof createPlaygroundReader>;

export function createPlaygroundReader(dependencies: PlaygroundDependencies) {
  const { service, limiter, cache, store, timing, closing } = dependencies;
  const statesRequests = createSharedRequests<DatedResponse<StatesResponse>>();
  const districtsRequests = createSharedRequests<DatedResponse<DistrictsResponse>>();
  const documentRequests = createSharedRequests<DatedResponse<OpenApiDocument>>();

  function send<S extends z.ZodType>(
    endpoint: JsonEndpoint<S>,
    request: CallRequest,
    { deadlineAt }: CallContext,
    isDirect = true,
  ): Promise<DatedResponse<z.output<S>>> {
    const sendOnce = async () => {
      const readAt = timing.now();
      const context = { signal: closing, deadlineAt: timing.clockMs() + ATTEMPT_LIMIT_MS, maxAttempts: 1 };
      const { value, drift } = await service.call(endpoint, request, context);
      return { value, drift, readAt };
    };
    return limiter.run(sendOnce, closing, deadlineAt - MIN_REQUEST_MS, isDirect);
  }

  /** Reads a list that is not fresh. If another process is reading it, waits for its result instead. */
  function readList<T>(context: CallContext, source: ListSource<T>): Promise<DatedResponse<T>> {
    const { endpoint, name, requests, load, read } = source;
    async function readOnce(): Promise<DatedResponse<T>> {
      while (!(await store.acquire(name))) {
        await timing.sleep(PEER_POLL_INTERVAL_MS, closing);
        const found = await load();
        if (found !== undefined) return found;
      }
      try {
        // Another process may have read the list before this one acquired the lease.
        return (await load()) ?? (await read());
      } finally {
        await store.release(name);
      }
    }
    return withRetries(
      { endpoint, context, timing },
      async () => (await load()) ?? (await requests(name, context.signal, readOnce)),
    );
  }

  return {
    states: (context: CallContext): Promise<DatedResponse<StatesResponse>> =>
      readList(context, {
        endpoint: listPlaygroundStates,
        name: STATES_ENTRY,
        requests: statesRequests,
        load: () => cache.loadStates(),
        read: async () => {
          const { value, ...metadata } = await send(listPlaygroundStates, {}, context);
          const response = { ...metadata, value: { ...value, states: value.states.map(truncateName) } };
          await cache.storeStates(response);
          return response;
        },
      }),
    /** Returns a state's districts. `isDirect`: a call waits for the list; otherwise the request belongs to the prefetch. */
    districts(code: string, context: CallContext, isDirect = true): Promise<DatedResponse<DistrictsResponse>> {
      const state = code.toUpperCase();
      return readList(context, {
        endpoint: listPlaygroundDistricts,
        name: state,
        requests: districtsRequests,
        load: async () => {
          await cache.loadDistricts([state]);
          return cache.getDistricts(state);
        },
        read: async () => {
          const { value, ...metadata } = await send(listPlaygroundDistricts, { query: { state } }, context, isDirect);
          const districts = value.districts.map(truncateName);
          const list = { ...value, state: excerpt(value.state, MAX_NAME_LENGTH), districts };
          const response = { ...metadata, value: list };
          await cache.storeDistricts(state, response);
          return response;
        },
      });
    },
    openApi: (context: CallContext): Promise<DatedResponse<OpenApiDocument>> =>
      withRetries({ endpoint: getPlaygroundOpenApi, context, timing }, () =>
        documentRequests("", context.signal, () => send(getPlaygroundOpenApi, {}, context)),
      ),
  };
}
