// A fake playground in virtual time: a catalog that a test can change, and a rate limit.

import type { Timing } from "../../src/api-client/attempts.ts";
import type { ApiClient } from "../../src/api-client/client.ts";
import type { JsonEndpoint } from "../../src/contract/endpoints/endpoint.ts";
import { listPlaygroundDistricts, listPlaygroundStates } from "../../src/contract/endpoints/playground.ts";
import { type District, PLAYGROUND_CONTRACT, type State } from "../../src/contract/playground.ts";
import { Failure } from "../../src/core/failure.ts";
import { say } from "../../src/core/text.ts";
import { answerForAllStates } from "../../src/geography/districts.ts";
import type { Country, GatherResult, Geography } from "../../src/geography/geography.ts";

export interface FakeState {
  readonly code: string;
  readonly name: string;
  /** Counts in the states list; by default the sums of its districts. */
  readonly statedCounts?: { readonly districtCount: number; readonly mandalCount: number };
  readonly districts: readonly District[];
}

/** Returns the seconds to wait, or undefined if the request is admitted. */
export type Throttle = (now: number) => number | undefined;

const LATENCY_MS = 200;
const METADATA = { contract: PLAYGROUND_CONTRACT } as const;

export const httpFailure = (status: number, retryAfterSeconds?: number): Failure =>
  new Failure({
    kind: status === 429 ? "rate_limited" : status === 403 ? "forbidden" : "upstream_unavailable",
    message: say`HTTP ${status}.`,
    status,
    retryable: status !== 403,
    sideEffect: "none",
    retryAfterSeconds,
  });

export const countMandals = ({ districts }: FakeState): number =>
  districts.reduce((sum, { mandalCount }) => sum + mandalCount, 0);

const toListedState = (state: FakeState): State => ({
  code: state.code,
  name: state.name,
  ...(state.statedCounts ?? { districtCount: state.districts.length, mandalCount: countMandals(state) }),
});

export function toCountry(catalog: readonly FakeState[]): Country {
  const withReadTime = <T>(value: T) => ({ value: { ...METADATA, ...value }, drift: [], readAt: 0 });
  const lists = catalog.map(
    ({ code, name, districts }) => [code, withReadTime({ state: name, districts: [...districts] })] as const,
  );
  return { states: withReadTime({ states: catalog.map(toListedState) }), lists: new Map(lists) };
}

export function createFakePlayground(states: readonly FakeState[], timing: Timing) {
  const bodyOf = (endpoint: JsonEndpoint, code: string): unknown => {
    const vintage = fake.vintages.get(code);
    const metadata = { ...METADATA, sourceUpdatedAt: vintage };
    if (endpoint.id === listPlaygroundStates.id) return { ...metadata, states: states.map(toListedState) };
    if (endpoint.id !== listPlaygroundDistricts.id) return { openapi: "3.1.1", info: {}, paths: {} };
    const found = states.find((state) => state.code === code);
    if (found === undefined) throw new Error(`the catalog has no state ${code}`);
    return { ...metadata, state: found.name, districts: found.districts };
  };
  const admits: Throttle = () => undefined;
  const requests: { readonly state: string; readonly at: number; status: number }[] = [];
  const service: Pick<ApiClient, "call"> = {
    async call(endpoint, { query = {} }, { signal, maxAttempts }) {
      if (maxAttempts !== 1) throw new Error("the reader has a policy of its own");
      const state = String(query["state"] ?? "");
      const request = { state, at: timing.now(), status: 200 };
      requests.push(request);
      fake.inFlight.now += 1;
      fake.inFlight.peak = Math.max(fake.inFlight.peak, fake.inFlight.now);
      try {
        const retryAfter = fake.throttle(timing.now());
        const failure = retryAfter === undefined ? fake.faults.get(state)?.shift() : httpFailure(429, retryAfter);
        await timing.sleep(LATENCY_MS, signal);
        if (failure) throw failure;
        const value = endpoint.success.body.parse(bodyOf(endpoint, state));
        return { value, drift: [], attempts: 1, replayed: false, respondedAt: timing.now() };
      } catch (error) {
        request.status = error instanceof Failure ? (error.facts.status ?? 0) : 0;
        throw error;
      } finally {
        fake.inFlight.now -= 1;
      }
    },
  };
  // A state's code is "" for the states list.
  const fake = {
    service,
    requests,
    /** Vintages by state code. */
    vintages: new Map<string, string | undefined>(),
    /** Failures of the next requests for a state, in order. */
    faults: new Map<string, Failure[]>(),
    throttle: admits,
    inFlight: { now: 0, peak: 0 },
  };
  return fake;
}

const MINUTE_MS = 60_000;

/** Admits `perMinute` requests in any period of 60 s: the strictest reading of the limit. */
export function createSlidingLimit(perMinute: number): Throttle {
  let admittedAt: number[] = [];
  return (now) => {
    admittedAt = admittedAt.filter((at) => at > now - MINUTE_MS);
    const [oldest] = admittedAt;
    if (admittedAt.length >= perMinute && oldest !== undefined)
      return Math.max(1, Math.ceil((oldest + MINUTE_MS - now) / 1000));
    admittedAt.push(now);
    return undefined;
  };
}

/** 36 states, the largest one with the highest code. Reading them takes 37 requests. */
export const testCountry: readonly FakeState[] = Array.from({ length: 36 }, (_, index) => {
  const code = `${String.fromCharCode(65 + Math.floor(index / 26))}${String.fromCharCode(65 + (index % 26))}`;
  const districts = Array.from({ length: 2 + (index % 5) }, (_each, place) => ({
    code: `${index}-${place}`,
    name: `District ${place} of ${code}`,
    mandalCount: index + place,
  }));
  return { code, name: `State ${code}`, districts };
});

export const CALL_MS = 45_000;

interface ReadOptions {
  readonly now: () => number;
  readonly waitMs?: number;
  readonly signal?: AbortSignal;
  readonly onProgress?: (read: number) => void;
}

export const readCountry = (
  geography: Geography,
  { now, waitMs = 20_000, signal = new AbortController().signal, onProgress = () => undefined }: ReadOptions,
): Promise<GatherResult> =>
  geography.gather(
    {
      answer: answerForAllStates,
      waitMs,
      onProgress: ({ progress }) => onProgress(progress),
    },
    { signal, deadlineAt: now() + CALL_MS },
  );
