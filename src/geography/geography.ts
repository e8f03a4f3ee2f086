// The polite reader of the country: what every geography tool and resource of this process asks.

import { type CallContext, type Timing, timeLeftMs } from "../api-client/attempts.ts";
import type { Service } from "../api-client/call.ts";
import { unlessAborted } from "../async.ts";
import type { DistrictsResponse, OpenApiDocument, State, StatesResponse } from "../contract/playground.ts";
import type { DatedAnswer } from "./cache.ts";
import { type Country, type Gathered, type Needs, NOT_READ_YET } from "./country.ts";
import { PlaygroundReader, type SharedAddress } from "./playground.ts";
import type { GeographyStore } from "./store.ts";
import { Sweep, type Unread } from "./sweep.ts";
import { idleTiming } from "./timing.ts";

export type { DatedAnswer } from "./cache.ts";
export type { Country, Gathered, Needs } from "./country.ts";
export type { SharedDatabase } from "./neighbours.ts";
export type { SharedAddress } from "./playground.ts";

/** Time kept within the call's own limit for making its answer. */
export const ANSWER_MS = 2_000;
/** How often it is looked what other processes have read, while this one may not ask. */
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
   * Reads the districts that a question needs, as fast as the service allows, and answers when they are there or time is
   * up; sooner where the limit is used up and the rows are sure, or nothing can come in time. The rest is read in the background.
   * Throws Failure when the states cannot be read.
   */
  gather(wish: CountryQuery, context: CallContext): Promise<Gathered>;
  /** How many requests may leave now. */
  permits(): number;
  /** Stops what is under way. Resolves when what was read is kept. */
  close(): Promise<void>;
}

export interface GeographyOptions {
  readonly service: Pick<Service, "call">;
  readonly perMinute: number;
  readonly timing?: Timing;
  /** Where lists are kept for other processes; left out, they are not. */
  readonly store?: GeographyStore;
  /** Left out, this process knows of no other. */
  readonly shared?: SharedAddress;
  /** How long the service counts a request, in milliseconds: a minute where it is left out. */
  readonly windowMs?: number;
}

export function createGeography({ timing = idleTiming, ...options }: GeographyOptions): Geography {
  const { store } = options;
  const closing = new AbortController();
  const playground = new PlaygroundReader({ ...options, timing, closing: closing.signal });
  const { limiter, cache } = playground;
  const sweep = new Sweep(playground, timing, closing.signal);

  function countryOf(states: DatedAnswer<StatesResponse>): Country {
    const lists = states.value.states.flatMap(({ code }) => {
      const reading = cache.districtsOf(code);
      return reading === undefined ? [] : [[code, reading] as const];
    });
    return { states, lists: new Map(lists) };
  }

  const pendingOf = (states: readonly State[], { lists }: Country): readonly State[] =>
    states.filter(({ code }) => !lists.has(code) && sweep.isPending(code));

  function unreadOf({ code }: State, needed: readonly State[], notNeeded: string): Unread {
    const failed = sweep.failure(code);
    if (failed !== undefined) return failed;
    if (!sweep.isPending(code)) {
      const isNeeded = needed.some((each) => each.code === code);
      return { state: code, reason: isNeeded ? "the catalogue moved on meanwhile: ask again" : notNeeded };
    }
    const delayMs = limiter.delayMs(Math.max(0, sweep.pendingCount - 1));
    const reason = limiter.isFrozen
      ? "the service asked for a pause (HTTP 429)"
      : limiter.delayMs() > 0
        ? "rate limit"
        : NOT_READ_YET;
    return { state: code, reason, retryAfterSeconds: Math.ceil((delayMs + REQUEST_MS) / 1000) };
  }

  /** Resolves at the next change of the sweep, or when time is up. */
  async function nextChange(untilAt: number, signal: AbortSignal): Promise<void> {
    const awake = new AbortController();
    const stopListening = sweep.onChange(() => awake.abort());
    const woken = timing.sleep(untilAt - timing.now(), awake.signal).catch(() => undefined);
    try {
      await unlessAborted(woken, signal);
    } finally {
      stopListening();
      awake.abort();
    }
  }

  /** Whether other processes have read any of these. */
  async function recalled(states: readonly State[]): Promise<boolean> {
    await cache.recallDistricts(states.map(({ code }) => code));
    return states.some(({ code }) => cache.districtsOf(code) !== undefined);
  }

  async function gather(wish: CountryQuery, context: CallContext): Promise<Gathered> {
    const untilAt = timing.now() + Math.min(wish.waitMs, timeLeftMs(context, timing) - ANSWER_MS);
    const states = await playground.states(context);
    const asked = new Set<string>();
    let shown = -1;
    let changes = 0;
    const stopListening = sweep.onChange(() => {
      changes += 1;
    });
    try {
      for (;;) {
        const changesBefore = changes;
        const country = countryOf(states);
        const about = wish.about(country);
        const { rows, all } = await wish.needs(country);
        // A list has arrived while the needs were computed.
        if (changes > changesBefore && timing.now() < untilAt) continue;
        const fresh = all.filter(({ code }) => !asked.has(code) && !country.lists.has(code));
        if (fresh.length > 0) {
          for (const { code } of fresh) asked.add(code);
          await cache.recallDistricts(fresh.map(({ code }) => code));
          sweep.want(fresh.filter(({ code }) => cache.districtsOf(code) === undefined));
          continue;
        }

        const pending = pendingOf(all, country);
        const isHeldUp = !sweep.isUnderWay && limiter.delayMs() > 0;
        // Another process may have read meanwhile what this one waits for.
        if (isHeldUp && (await recalled(pending))) continue;
        const isEnough = pending.length === 0 || (isHeldUp && pendingOf(rows, country).length === 0);
        // Nothing can come within the wait, by our limit or by the pause that the service asked for: not waited out.
        const isHopeless = isHeldUp && timing.now() + limiter.delayMs() > untilAt;
        if (isEnough || isHopeless || timing.now() >= untilAt) {
          const missing = about.filter(({ code }) => !country.lists.has(code));
          const unread = missing.map((state) => unreadOf(state, all, wish.notNeeded));
          return { country, unread };
        }
        const read = about.filter(({ code }) => country.lists.has(code)).length;
        if (read > shown) wish.onProgress(read, about.length);
        shown = Math.max(shown, read);
        const lookAt = isHeldUp && store !== undefined ? timing.now() + LOOK_MS : untilAt;
        await nextChange(Math.min(untilAt, lookAt), context.signal);
      }
    } finally {
      stopListening();
    }
  }

  return {
    states: (context) => playground.states(context),
    districts: (code, context) => playground.districts(code, context),
    openApi: (context) => playground.openApi(context),
    gather,
    permits: () => limiter.permits(),
    async close() {
      closing.abort();
      await store?.close();
      await playground.close();
    },
  };
}
