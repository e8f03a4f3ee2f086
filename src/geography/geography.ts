// What the geography tools and resources of this process read: the playground's endpoints, and the country as a whole.
import { setTimeout as sleep } from "node:timers/promises";
import { type CallContext, systemTiming, type Timing, timeLeftMs } from "../api-client/attempts.ts";
import type { ApiClient } from "../api-client/client.ts";
import type { DistrictsResponse, OpenApiDocument, State, StatesResponse } from "../contract/playground.ts";
import { CatalogueCache, type DatedAnswer } from "./cache.ts";
import { type Country, type Gathered, type Needs, NOT_READ_YET } from "./country.ts";
import { Limiter } from "./limiter.ts";
import { PlaygroundReader } from "./playground.ts";
import { type MissingState, Prefetch } from "./prefetch.ts";
import { createGeographyStore, type SharedAddress } from "./store.ts";

export type { DatedAnswer } from "./cache.ts";
export type { Country, Gathered, Needs } from "./country.ts";
export type { SharedAddress, SharedDatabase } from "./store.ts";

/** Time kept within the call's own limit for making its answer. */
export const ANSWER_MS = 2_000;
/** How often a waiting call checks again whether anything can come in time. */
const LOOK_MS = 1_000;
/** What one request takes, in the estimate of how long the rest will take. */
const REQUEST_MS = 1_000;

export interface CountryQuery {
  /** The states that the question is about. Throws Failure when it names none of the list. */
  readonly about: (country: Country) => readonly State[];
  readonly needs: (country: Country) => Needs | Promise<Needs>;
  /** Why a state of `about` that is not needed was not read. */
  readonly notNeeded: string;
  readonly waitMs: number;
  readonly onProgress: (read: number, total: number) => void;
}

export interface Geography {
  /** At most 10 minutes old. Throws Failure. */
  states(context: CallContext): Promise<DatedAnswer<StatesResponse>>;
  /** At most 6 hours old; an unknown code may give an empty list. Throws Failure. */
  districts(code: string, context: CallContext): Promise<DatedAnswer<DistrictsResponse>>;
  openApi(context: CallContext): Promise<DatedAnswer<OpenApiDocument>>;
  /**
   * Reads the districts that a question needs, as fast as the API allows, and returns when all are there or time is up; earlier if
   * the rate limit is used up and the rows are sure, or if nothing can come in time. The rest is read in the background.
   * Throws Failure if the states cannot be read.
   */
  gather(wish: CountryQuery, context: CallContext): Promise<Gathered>;
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
  readonly shared?: SharedAddress | undefined;
}

/** Timers that do not keep a finished process alive. */
const idleTiming: Timing = {
  ...systemTiming,
  sleep: (ms, signal) => sleep(ms, undefined, { signal, ref: false }),
};

export function createGeography({ service, perMinute, timing = idleTiming, shared }: GeographyOptions): Geography {
  const closing = new AbortController();
  const store = createGeographyStore(shared, timing.now);
  const limiter = new Limiter(perMinute, timing, store);
  const cache = new CatalogueCache(store, timing.now, (readAt) => limiter.record(readAt));
  const parts = { service, limiter, cache, store, timing };
  const playground = new PlaygroundReader(parts);
  const prefetch = new Prefetch(playground, parts, closing.signal);

  function countryOf(states: DatedAnswer<StatesResponse>): Country {
    const lists = states.value.states.flatMap(({ code }) => {
      const reading = cache.districtsOf(code);
      return reading === undefined ? [] : [[code, reading] as const];
    });
    return { states, lists: new Map(lists) };
  }

  const pendingOf = (states: readonly State[], { lists }: Country): readonly State[] =>
    states.filter(({ code }) => !lists.has(code) && prefetch.isPending(code));

  function toMissingState({ code }: State, needed: readonly State[], notNeeded: string): MissingState {
    const failed = prefetch.failure(code);
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
    return { state: code, reason, retryAfterSeconds: Math.ceil((delayMs + REQUEST_MS) / 1000) };
  }

  async function gather(wish: CountryQuery, context: CallContext): Promise<Gathered> {
    const untilAt = timing.now() + Math.min(wish.waitMs, timeLeftMs(context, timing) - ANSWER_MS);
    const states = await playground.states(context);
    const requestedCodes = new Set<string>();
    let shown = -1;
    for (;;) {
      const { change } = prefetch;
      const country = countryOf(states);
      const about = wish.about(country);
      const { rows, all } = await wish.needs(country);
      // A list has arrived while the needs were computed.
      if (change.aborted && timing.now() < untilAt) continue;
      const fresh = all.filter(({ code }) => !requestedCodes.has(code) && !country.lists.has(code));
      if (fresh.length > 0) {
        for (const { code } of fresh) requestedCodes.add(code);
        await cache.recallDistricts(fresh.map(({ code }) => code));
        prefetch.want(fresh.filter(({ code }) => cache.districtsOf(code) === undefined));
        continue;
      }

      const pending = pendingOf(all, country);
      const isHeldUp = !limiter.isSending && limiter.delayMs() > 0;
      const isEnough = pending.length === 0 || (isHeldUp && pendingOf(rows, country).length === 0);
      // The rate limit or a cooldown lasts longer than the call: it does not wait.
      const isPastDeadline = isHeldUp && timing.now() + limiter.delayMs() > untilAt;
      if (isEnough || isPastDeadline || timing.now() >= untilAt) {
        const missingStates = about.filter(({ code }) => !country.lists.has(code));
        const missing = missingStates.map((state) => toMissingState(state, all, wish.notNeeded));
        return { country, missing };
      }
      const read = about.filter(({ code }) => country.lists.has(code)).length;
      if (read > shown) wish.onProgress(read, about.length);
      shown = Math.max(shown, read);
      const ends = AbortSignal.any([change, context.signal]);
      await timing.sleep(Math.min(untilAt - timing.now(), LOOK_MS), ends).catch(() => undefined);
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
