// Provides the data for the geography tools and resources: the playground's endpoints, and the country as a whole.
import { setTimeout as sleep } from "node:timers/promises";
import { type CallContext, systemTiming, type Timing, timeLeftMs } from "../api-client/attempts.ts";
import type { ApiClient } from "../api-client/client.ts";
import type { State, StatesResponse } from "../contract/playground.ts";
import { createCatalog, type DatedResponse } from "./catalog.ts";
import { type Country, type CountryAnswer, type GatherResult, NOT_READ_YET } from "./country.ts";
import { createLimiter } from "./limiter.ts";
import { createPlaygroundReader } from "./playground.ts";
import { createPrefetch, type MissingState } from "./prefetch.ts";
import type { SharedStoreOptions } from "./store.ts";

export type { DatedResponse } from "./catalog.ts";
export type { Country, CountryAnswer, GatherResult } from "./country.ts";
export type { SharedStoreOptions } from "./store.ts";

/** Part of a call's time that is reserved for building its answer. */
export const RESPONSE_RESERVE_MS = 2_000;
/** Interval at which a waiting call checks whether any list can still arrive in time. */
const POLL_INTERVAL_MS = 1_000;
/** Assumed duration of one request, used to estimate when a missing list is available. */
const ESTIMATED_REQUEST_MS = 1_000;

export interface GatherProgress {
  readonly progress: number;
  readonly total: number;
  readonly message: string;
}

export interface CountryQuery<A extends CountryAnswer> {
  /** Called again after other lists were read. Throws Failure if the question names a state that is not in the list. */
  readonly answer: (country: Country) => A | Promise<A>;
  readonly waitMs: number;
  /** Called about once per second while lists are missing. */
  readonly onProgress: (progress: GatherProgress) => void;
}

export interface GeographyOptions {
  readonly service: Pick<ApiClient, "call">;
  /** Maximum number of prefetch requests in a minute. Direct calls may send two more, as far as the API's limit allows. */
  readonly perMinute: number;
  readonly timing?: Timing;
  /** Database that this process shares with others (default: none). */
  readonly shared?: SharedStoreOptions;
}

export type Geography = ReturnType<typeof createGeography>;

/** Timers that do not keep a finished process alive. */
const unrefTiming: Timing = {
  ...systemTiming,
  sleep: (ms, signal) => sleep(ms, undefined, { signal, ref: false }),
};

export function createGeography({ service, perMinute, timing = unrefTiming, shared }: GeographyOptions) {
  const closing = new AbortController();
  const catalog = createCatalog(shared, timing.now, (readAt) => limiter.record(readAt));
  const limiter = createLimiter(perMinute, timing, catalog);
  const dependencies = { service, limiter, catalog, timing, closing: closing.signal };
  const playground = createPlaygroundReader(dependencies);
  const prefetch = createPrefetch(playground, dependencies);

  function toCountry(states: DatedResponse<StatesResponse>): Country {
    const lists = states.value.states.flatMap(({ code }) => {
      const response = catalog.getDistricts(code);
      return response === undefined ? [] : [[code, response] as const];
    });
    return { states, lists: new Map(lists) };
  }

  const isPending = ({ code }: State): boolean => prefetch.isPending(code);

  const estimatePendingSeconds = (): number =>
    Math.ceil((limiter.delayMs(Math.max(0, prefetch.countPending() - 1)) + ESTIMATED_REQUEST_MS) / 1000);

  function toMissingState({ code }: State): MissingState {
    // A list that arrived after the answer was computed is in the answer to the next call.
    if (catalog.getDistricts(code) !== undefined)
      return { state: code, reason: NOT_READ_YET, retryAfterSeconds: ESTIMATED_REQUEST_MS / 1000 };
    const failed = prefetch.getFailure(code);
    if (failed !== undefined) return failed;
    if (!prefetch.isPending(code)) return { state: code, reason: "the catalog changed meanwhile: ask again" };
    const reason = limiter.isCoolingDown()
      ? "the API asked for a pause (HTTP 429)"
      : limiter.delayMs() > 0
        ? "rate limit"
        : NOT_READ_YET;
    return { state: code, reason, retryAfterSeconds: estimatePendingSeconds() };
  }

  /** Queues lists, unless other processes have read them. Returns true if some of them are known now. */
  async function request(lists: readonly State[]): Promise<boolean> {
    await catalog.load();
    const missing = lists.filter(({ code }) => catalog.getDistricts(code) === undefined);
    prefetch.enqueue(missing);
    return missing.length < lists.length;
  }

  /**
   * Reads the districts lists that a question needs, as fast as the rate limit allows. Returns the answer when all are available or
   * the time is up. Returns earlier if the rate limit is used up and the rows are certain, or if no list can arrive in time. The remaining
   * lists are read in the background. Throws Failure if the states list cannot be read.
   */
  async function gather<A extends CountryAnswer>(
    query: CountryQuery<A>,
    context: CallContext,
  ): Promise<GatherResult<A>> {
    const untilAt = timing.clockMs() + Math.min(query.waitMs, timeLeftMs(context, timing) - RESPONSE_RESERVE_MS);
    const states = await playground.states(context);
    const requestedCodes = new Set<string>();
    for (;;) {
      const computedAt = timing.clockMs();
      const country = toCountry(states);
      const answer = await query.answer(country);
      const { rows, all } = answer.requiredLists;
      const newlyNeeded = all.filter(({ code }) => !requestedCodes.has(code));
      for (const { code } of newlyNeeded) requestedCodes.add(code);
      if (newlyNeeded.length > 0 && (await request(newlyNeeded))) continue;
      for (let isOutdated = false; !isOutdated; ) {
        const change = prefetch.getChange();
        const nowMs = timing.clockMs();
        const isRateLimited = !limiter.isSending() && limiter.delayMs() > 0;
        const isEnough = !all.some(isPending) || (isRateLimited && !rows.some(isPending));
        // A call does not wait for a rate limit or a cooldown that lasts beyond its deadline.
        const isLate = nowMs >= untilAt || (isRateLimited && nowMs + limiter.delayMs() > untilAt);
        // The answer is computed again only if it may be final, or once a second to check whether it now needs fewer lists.
        const mayEnd = isEnough || isLate || isRateLimited || nowMs >= computedAt + POLL_INTERVAL_MS;
        isOutdated = mayEnd && all.some(({ code }) => catalog.getDistricts(code) !== undefined);
        if (computedAt >= untilAt || (!isOutdated && (isEnough || isLate)))
          return { answer, country, missing: all.map(toMissingState) };
        if (isOutdated) continue;
        const progress = answer.states.filter(({ code }) => catalog.getDistricts(code) !== undefined).length;
        const total = answer.states.length;
        const message = `${progress} of ${total} lists loaded; about ${estimatePendingSeconds()} s more`;
        query.onProgress({ progress, total, message });
        const wakeSignal = AbortSignal.any([change, context.signal]);
        await timing.sleep(Math.min(untilAt - nowMs, POLL_INTERVAL_MS), wakeSignal).catch(() => undefined);
        context.signal.throwIfAborted();
      }
    }
  }

  return {
    ...playground,
    gather,
    availableRequests: limiter.availableRequests,
    /** Aborts the requests in flight. Resolves when pending writes to the store are done. */
    async close(): Promise<void> {
      closing.abort();
      await catalog.close();
    },
  };
}
