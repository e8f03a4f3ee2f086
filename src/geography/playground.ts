// Reads the playground's three endpoints within the rate limit. Concurrent callers share one request; fresh lists come from the cache.
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
import type { Catalog, DatedResponse } from "./catalog.ts";
import type { Limiter } from "./limiter.ts";
import { MAX_NAME_LENGTH } from "./names/name-forms.ts";
import { LEASE_MS } from "./store.ts";

/** With less time left than this, a request is not worth starting. */
const MIN_REQUEST_MS = 250;
/** Interval at which a call looks for the states list that another process is reading. */
const PEER_POLL_INTERVAL_MS = 150;

export interface PlaygroundDependencies {
  readonly service: Pick<ApiClient, "call">;
  readonly limiter: Limiter;
  readonly catalog: Catalog;
  readonly timing: Timing;
  /** Aborts all requests when the program ends. */
  readonly closing: AbortSignal;
}

type SharedRequests<T> = (key: string, signal: AbortSignal, start: () => Promise<T>) => Promise<T>;

/** The request continues if its callers are canceled, because the next call needs the list. */
function createSharedRequests<T>(): SharedRequests<T> {
  const inFlight = new Map<string, Promise<T>>();
  return (key, signal, start) => {
    const request = inFlight.get(key) ?? start().finally(() => inFlight.delete(key));
    inFlight.set(key, request);
    return withAbortSignal(request, signal);
  };
}

/** The contract sets no maximum length for names (docs/contract.md, 2.1), so long names are truncated. */
const truncateName = <T extends { readonly name: string }>(item: T): T => ({
  ...item,
  name: excerpt(item.name, MAX_NAME_LENGTH),
});

export type PlaygroundReader = ReturnType<typeof createPlaygroundReader>;

export function createPlaygroundReader(dependencies: PlaygroundDependencies) {
  const { service, limiter, catalog, timing, closing } = dependencies;
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

  /** Reads the states list, or waits for it while another process holds the lease, so that processes that start together send one request. */
  async function readStates(context: CallContext): Promise<DatedResponse<StatesResponse>> {
    const user = {};
    const untilAt = timing.clockMs() + LEASE_MS;
    while (!(await catalog.acquire(user)) && catalog.getStates() === undefined && timing.clockMs() < untilAt)
      await timing.sleep(PEER_POLL_INTERVAL_MS, closing);
    try {
      const known = catalog.getStates();
      if (known !== undefined) return known;
      const { value, ...metadata } = await send(listPlaygroundStates, {}, context);
      const response = { ...metadata, value: { ...value, states: value.states.map(truncateName) } };
      await catalog.storeStates(response);
      return response;
    } finally {
      await catalog.release(user);
    }
  }

  async function readDistricts(state: string, context: CallContext, isDirect: boolean) {
    const { value, ...metadata } = await send(listPlaygroundDistricts, { query: { state } }, context, isDirect);
    const list = {
      ...value,
      state: excerpt(value.state, MAX_NAME_LENGTH),
      districts: value.districts.map(truncateName),
    };
    const response = { ...metadata, value: list };
    await catalog.storeDistricts(state, response);
    return response;
  }

  /** Returns the list that `get` returns now, or after the lists of other processes are loaded. */
  async function find<T>(get: () => T | undefined): Promise<T | undefined> {
    if (get() === undefined) await catalog.load();
    return get();
  }

  return {
    /** Returns a states list that is at most 10 minutes old. Throws Failure. */
    states: (context: CallContext): Promise<DatedResponse<StatesResponse>> =>
      withRetries({ endpoint: listPlaygroundStates, context, timing }, async () => {
        const known = await find(catalog.getStates);
        return known ?? (await statesRequests("", context.signal, () => readStates(context)));
      }),
    /** At most 6 hours old; may be empty for an unknown code. `isDirect`: a call waits for the list, not the prefetch. Throws Failure. */
    districts(code: string, context: CallContext, isDirect = true): Promise<DatedResponse<DistrictsResponse>> {
      const state = code.toUpperCase();
      const get = () => catalog.getDistricts(state);
      return withRetries({ endpoint: listPlaygroundDistricts, context, timing }, async () => {
        // The prefetch loads the lists of other processes when it renews its lease.
        const known = isDirect ? await find(get) : get();
        return known ?? (await districtsRequests(state, context.signal, () => readDistricts(state, context, isDirect)));
      });
    },
    openApi: (context: CallContext): Promise<DatedResponse<OpenApiDocument>> =>
      withRetries({ endpoint: getPlaygroundOpenApi, context, timing }, async () => {
        await catalog.load();
        return await documentRequests("", context.signal, () => send(getPlaygroundOpenApi, {}, context));
      }),
  };
}
