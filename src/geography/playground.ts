// The playground's three endpoints, each request under the one limiter and tried once; two of them with a cache.
import type * as z from "zod/v4";
import { ATTEMPT_LIMIT_MS, type CallContext, type Timing, withRetries } from "../api-client/attempts.ts";
import type { Service } from "../api-client/call.ts";
import type { CallRequest } from "../api-client/encode.ts";
import type { JsonEndpoint } from "../contract/endpoints/endpoint.ts";
import {
  getPlaygroundOpenApi,
  listPlaygroundDistricts,
  listPlaygroundStates,
} from "../contract/endpoints/playground.ts";
import type { DistrictsResponse, OpenApiDocument, StatesResponse } from "../contract/playground.ts";
import { Failure } from "../failure.ts";
import { CatalogueCache, type DatedAnswer } from "./cache.ts";
import { withShortDistrictNames, withShortStateNames } from "./intake.ts";
import { type Ledger, OwnLedger, type RequestLimits, WINDOW_MS } from "./ledger.ts";
import { Limiter, type Permit } from "./limiter.ts";
import { Neighbours, type SharedDatabase } from "./neighbours.ts";
import { SharedLedger } from "./shared-ledger.ts";
import { SharedRequests } from "./shared-requests.ts";
import type { GeographyStore } from "./store.ts";

/** After a 429 that does not say for how long. */
const DEFAULT_RETRY_AFTER_SECONDS = 60;
/** With less time left than this, a request is not worth starting. */
const MARGIN_MS = 250;
/** Of each client address, in a minute (docs/contract.md, 8). */
const SERVICE_LIMIT = 30;
/** What reading ahead leaves for direct calls. */
const KEPT_FOR_DIRECT = 2;
/** How often it is looked whether the list that another process reads is there; after so many looks it is asked whose turn it is. */
const LOOK_MS = 150;
const MAX_LOOKS = 7;

/** What this process shares with others behind the same address. */
export interface SharedAddress {
  /** Throws where there is nothing to share: then this process keeps to itself. */
  readonly open: () => Promise<SharedDatabase>;
  /** Of the service. Throws Failure where none is configured. */
  readonly baseUrl: () => Promise<string>;
  /** Names the address that requests leave by; left out, all who share a database leave by one. */
  readonly budget?: string | undefined;
}

export interface PlaygroundOptions {
  readonly service: Pick<Service, "call">;
  /** What is read ahead keeps to this; direct calls have two requests beside it, or of it where the service's limit leaves no room. */
  readonly perMinute: number;
  readonly timing: Timing;
  /** Ends everything that is under way. */
  readonly closing: AbortSignal;
  /** Where lists are kept for other processes. */
  readonly store?: GeographyStore | undefined;
  readonly shared?: SharedAddress | undefined;
  /** How long the service counts a request, in milliseconds. */
  readonly windowMs?: number | undefined;
}

export type GetPermit = (signal: AbortSignal) => Promise<Permit>;

function limitsFor(perMinute: number): RequestLimits {
  const direct = Math.max(perMinute, Math.min(perMinute + KEPT_FOR_DIRECT, SERVICE_LIMIT));
  return { ahead: Math.min(perMinute, direct - KEPT_FOR_DIRECT), direct };
}

function ledgerOf({ perMinute, timing, shared, windowMs = WINDOW_MS }: PlaygroundOptions) {
  const limits = limitsFor(perMinute);
  const own = new OwnLedger(limits, timing, windowMs);
  if (shared === undefined) return { limits, ledger: own };
  const neighbours = new Neighbours({ ...shared, limits, windowMs, now: timing.now });
  return { limits, ledger: new SharedLedger(neighbours, own, timing.now) };
}

/** One list: where it may be known from, how it is read, how it is kept for others. */
interface ListReading<T> {
  readonly list: string;
  readonly recall: () => Promise<DatedAnswer<T> | undefined>;
  readonly read: (permit: Permit) => Promise<DatedAnswer<T>>;
  readonly keep: (reading: DatedAnswer<T>) => Promise<void>;
}

export class PlaygroundReader {
  readonly limiter: Limiter;
  readonly cache: CatalogueCache;
  readonly #ledger: Ledger;
  readonly #service: Pick<Service, "call">;
  readonly #timing: Timing;
  readonly #states = new SharedRequests<DatedAnswer<StatesResponse>>();
  readonly #districts = new SharedRequests<DatedAnswer<DistrictsResponse>>();
  readonly #documents = new SharedRequests<DatedAnswer<OpenApiDocument>>();

  constructor(options: PlaygroundOptions) {
    const { service, timing, closing, store, windowMs = WINDOW_MS } = options;
    const { limits, ledger } = ledgerOf(options);
    this.#service = service;
    this.#timing = timing;
    this.#ledger = ledger;
    this.limiter = new Limiter({ limits, ledger, timing, closing, windowMs });
    this.cache = new CatalogueCache(timing.now, store);
  }

  states(context: CallContext): Promise<DatedAnswer<StatesResponse>> {
    const recall = async () => {
      await this.cache.recallStates();
      return this.cache.states;
    };
    const read = async (permit: Permit, signal: AbortSignal) => {
      const reading = await this.#once(listPlaygroundStates, {}, signal, permit);
      return { ...reading, value: withShortStateNames(reading.value) };
    };
    return this.#patiently(listPlaygroundStates, context, async () => {
      const known = await recall();
      if (known !== undefined) return known;
      return await this.#states.join("", context.signal, (signal) =>
        this.#inTurn(signal, this.#urgent(context), {
          list: "states",
          recall,
          read: (permit) => read(permit, signal),
          keep: (reading) => this.cache.keepStates(reading),
        }),
      );
    });
  }

  districts(code: string, context: CallContext): Promise<DatedAnswer<DistrictsResponse>> {
    return this.#patiently(listPlaygroundDistricts, context, () =>
      this.districtsOnce(code, context.signal, this.#urgent(context)),
    );
  }

  /** One attempt; a fresh reading or a request that is under way, here or in another process, does as well. */
  async districtsOnce(code: string, signal: AbortSignal, permit: GetPermit): Promise<DatedAnswer<DistrictsResponse>> {
    const state = code.toUpperCase();
    const recall = async () => {
      await this.cache.recallDistricts([state]);
      return this.cache.districtsOf(state);
    };
    const known = await recall();
    if (known !== undefined) return known;
    return await this.#districts.join(state, signal, (flightSignal) =>
      this.#inTurn(flightSignal, permit, {
        list: state,
        recall,
        read: async (taken) => {
          const reading = await this.#once(listPlaygroundDistricts, { query: { state } }, flightSignal, taken);
          return { ...reading, value: withShortDistrictNames(reading.value) };
        },
        keep: (reading) => this.cache.keepDistricts(state, reading),
      }),
    );
  }

  openApi(context: CallContext): Promise<DatedAnswer<OpenApiDocument>> {
    return this.#patiently(getPlaygroundOpenApi, context, () =>
      this.#documents.join("", context.signal, async (signal) =>
        this.#once(getPlaygroundOpenApi, {}, signal, await this.#urgent(context)(signal)),
      ),
    );
  }

  /** Resolves when other processes know how this one has ended. */
  close(): Promise<void> {
    return this.#ledger.close();
  }

  /** Reads a list, unless another process is at it: then what that one has read is taken. */
  async #inTurn<T>(
    signal: AbortSignal,
    getPermit: GetPermit,
    { list, recall, read, keep }: ListReading<T>,
  ): Promise<DatedAnswer<T>> {
    for (;;) {
      const permit = await getPermit(signal);
      const isOurs = await permit.takeTurn(list);
      // It may have come while the permit was waited for.
      const known = await recall();
      if (isOurs && known === undefined) {
        let kept: Promise<void> | undefined;
        try {
          const reading = await read(permit);
          kept = keep(reading);
          return reading;
        } finally {
          // Not before the others find it. Nobody waits for that.
          (kept ?? Promise.resolve()).then(() => permit.endTurn());
        }
      }
      // Its turn goes with it.
      permit.giveBack();
      const found = known ?? (await this.#lookFor(recall, signal));
      if (found !== undefined) return found;
    }
  }

  /** Waits a little for what another process reads. */
  async #lookFor<T>(recall: ListReading<T>["recall"], signal: AbortSignal): Promise<DatedAnswer<T> | undefined> {
    for (let looks = 0; looks < MAX_LOOKS; looks++) {
      await this.#timing.sleep(LOOK_MS, signal);
      const found = await recall();
      if (found !== undefined) return found;
    }
    return undefined;
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
    permit: Permit,
  ): Promise<DatedAnswer<z.output<S>>> {
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
