// What the geography tools and resources of this process read: the playground's endpoints, and the country as a whole.
import { setTimeout as sleep } from "node:timers/promises";
import { type CallContext, systemTiming, type Timing, timeLeftMs } from "../api-client/attempts.ts";
import type { ApiClient } from "../api-client/client.ts";
import type { DistrictsResponse, OpenApiDocument, State, StatesResponse } from "../contract/playground.ts";
import { CatalogCache, type DatedResponse } from "./cache.ts";
import { type Country, type GatherResult, NOT_READ_YET, type RequiredLists } from "./country.ts";
import { Limiter } from "./limiter.ts";
import { PlaygroundReader } from "./playground.ts";
import { type MissingState, Prefetch } from "./prefetch.ts";
import { createGeographyStore, type SharedStoreOptions } from "./store.ts";

export type { DatedResponse } from "./cache.ts";
export type { Country, GatherResult, RequiredLists } from "./country.ts";
export type { SharedDatabase, SharedStoreOptions } from "./store.ts";

/** Time kept within the call's own limit for making its answer. */
export const RESPONSE_RESERVE_MS = 2_000;
/** How often a waiting call checks again whether anything can come in time. */
const POLL_INTERVAL_MS = 1_000;
/** What one request takes, in the estimate of how long the rest will take. */
const ESTIMATED_REQUEST_MS = 1_000;

export interface CountryQuery {
  /** The states that the question is about. Throws Failure when it names none of the list. */
  readonly selectStates: (country: Country) => readonly State[];
  readonly requiredLists: (country: Country) => RequiredLists | Promise<RequiredLists>;
  /** Why a state of `about` that is not needed was not read. */
  readonly notNeeded: string;
  readonly waitMs: number;
  readonly onProgress: (read: number, total: number) => void;
}

export interface Geography {
  /** At most 10 minutes old. Throws Failure. */
  states(context: CallContext): Promise<DatedResponse<StatesResponse>>;
  /** At most 6 hours old; an unknown code may give an empty list. Throws Failure. */
  districts(code: string, context: CallContext): Promise<DatedResponse<DistrictsResponse>>;
  openApi(context: CallContext): Promise<DatedResponse<OpenApiDocument>>;
  /**
   * Reads the districts that a question needs, as fast as the API allows, and returns when all are there or time is up; earlier if
   * the rate limit is used up and the rows are sure, or if nothing can come in time. The rest is read in the background.
   * Throws Failure if the states cannot be read.
   */
  gather(query: CountryQuery, context: CallContext): Promise<GatherResult>;
  /** Direct requests that may be sent now. */
  availableRequests(): number;
  /** Stops what is in flight. Resolves when what was read is stored. */
  close(): Promise<void>;
}

export interface GeographyOptions {
  readonly service: Pick<ApiClient, "call">;
  /** Requests that the prefetch may send in a minute. Direct calls may send two more, as far as the API's limit allows. */
  readonly perMinute: number;
  readonly timing?: Timing;
  /** What this process shares with others (default: nothing). */
  readonly shared?: SharedStoreOptions | undefined;
}

/** Timers that do not keep a finished process alive. */
const unrefTiming: Timing = {
  ...systemTiming,
  sleep: (ms, signal) => sleep(ms, undefined, { signal, ref: false }),
};

export function createGeography({ service, perMinute, timing = unrefTiming, shared }: GeographyOptions): Geography {
  const closing = new AbortController();
  const store = createGeographyStore(shared, timing.now);
  const limiter = new Limiter(perMinute, timing, store);
  const cache = new CatalogCache(store, timing.now, (readAt) => limiter.record(readAt));
  const dependencies = { service, limiter, cache, store, timing };
  const playground = new PlaygroundReader(dependencies);
  const prefetch = new Prefetch(playground, dependencies, closing.signal);

  function toCountry(states: DatedResponse<StatesResponse>): Country {
    const lists = states.value.states.flatMap(({ code }) => {
      const response = cache.getDistricts(code);
      return response === undefined ? [] : [[code, response] as const];
    });
    return { states, lists: new Map(lists) };
  }

  const findPending = (states: readonly State[], { lists }: Country): readonly State[] =>
    states.filter(({ code }) => !lists.has(code) && prefetch.isPending(code));

  function toMissingState({ code }: State, needed: readonly State[], notNeeded: string): MissingState {
    const failed = prefetch.getFailure(code);
    if (failed !== undefined) return failed;
    if (!prefetch.isPending(code)) {
      const isNeeded = needed.some((each) => each.code === code);
      return { state: code, reason: isNeeded ? "the catalogue moved on meanwhile: ask again" : notNeeded };
    }
    const delayMs = limiter.delayMs(Math.max(0, prefetch.pendingCount - 1));
    const reason = limiter.isCoolingDown
      ? "the service asked for a pause (HTTP 429)"
      : limiter.delayMs() > 0
        ? "rate limit"
        : NOT_READ_YET;
    return { state: code, reason, retryAfterSeconds: Math.ceil((delayMs + ESTIMATED_REQUEST_MS) / 1000) };
  }

  async function gather(query: CountryQuery, context: CallContext): Promise<GatherResult> {
    const untilAt = timing.now() + Math.min(query.waitMs, timeLeftMs(context, timing) - RESPONSE_RESERVE_MS);
    const states = await playground.states(context);
    const requestedCodes = new Set<string>();
    let reportedCount = -1;
    for (;;) {
      const { change } = prefetch;
      const country = toCountry(states);
      const requestedStates = query.selectStates(country);
      const { rows, all } = await query.requiredLists(country);
      // A list has arrived while the needs were computed.
      if (change.aborted && timing.now() < untilAt) continue;
      const newlyNeeded = all.filter(({ code }) => !requestedCodes.has(code) && !country.lists.has(code));
      if (newlyNeeded.length > 0) {
        for (const { code } of newlyNeeded) requestedCodes.add(code);
        await cache.loadDistricts(newlyNeeded.map(({ code }) => code));
        prefetch.enqueue(newlyNeeded.filter(({ code }) => cache.getDistricts(code) === undefined));
        continue;
      }

      const pending = findPending(all, country);
      const isRateLimited = !limiter.isSending && limiter.delayMs() > 0;
      const isEnough = pending.length === 0 || (isRateLimited && findPending(rows, country).length === 0);
      // The rate limit or a cooldown lasts longer than the call: it does not wait.
      const isPastDeadline = isRateLimited && timing.now() + limiter.delayMs() > untilAt;
      if (isEnough || isPastDeadline || timing.now() >= untilAt) {
        const missingStates = requestedStates.filter(({ code }) => !country.lists.has(code));
        const missing = missingStates.map((state) => toMissingState(state, all, query.notNeeded));
        return { country, missing };
      }
      const read = requestedStates.filter(({ code }) => country.lists.has(code)).length;
      if (read > reportedCount) query.onProgress(read, requestedStates.length);
      reportedCount = Math.max(reportedCount, read);
      const wakeSignal = AbortSignal.any([change, context.signal]);
      await timing.sleep(Math.min(untilAt - timing.now(), POLL_INTERVAL_MS), wakeSignal).catch(() => undefined);
      context.signal.throwIfAborted();
    }
  }

  return {
    states: (context) => playground.states(context),
    districts: (code, context) => playground.districts(code, context),
    openApi: (context) => playground.openApi(context),
    gather,
    availableRequests: () => limiter.availableRequests(),
    async close() {
      closing.abort();
      await store.close();
    },
  };
}
