// Caches the lists of the geography catalog: states for 10 minutes, districts for 6 hours. A districts list of a vintage other
// than the states list's is discarded. All lists, and the cooldown that the API requested, are one row that processes share (store.ts).
import * as z from "zod/v4";
import { parseJson } from "../contract/json.ts";
import { DistrictsResponse, StatesResponse } from "../contract/playground.ts";
import { createGeographyStore, type SharedStoreOptions } from "./store.ts";

export const STATES_FRESH_MS = 600_000;
export const DISTRICTS_FRESH_MS = 6 * 3_600_000;
/** Tolerated difference between the clocks of two machines. */
const MAX_CLOCK_SKEW_MS = 5_000;

export interface DatedResponse<T> {
  readonly value: T;
  /** Unknown fields: the contract does not define them. */
  readonly drift: readonly string[];
  /** Time of the request, in milliseconds since 1970. */
  readonly readAt: number;
}

const metadata = { drift: z.array(z.string()).readonly(), readAt: z.int().min(0) };
const KnownStates = z.strictObject({ value: StatesResponse, ...metadata });
/** `vintage`: that of the states list that was known when this list was read, or else the list's own; null if none is stated. */
const KnownDistricts = z.strictObject({ value: DistrictsResponse, ...metadata, vintage: z.string().nullable() });
type KnownDistricts = z.infer<typeof KnownDistricts>;
const Cooldown = z.strictObject({ askedAt: z.int(), untilAt: z.int() });
const StoredCatalog = z.strictObject({
  states: KnownStates.optional(),
  districts: z.record(z.string(), KnownDistricts),
  cooldown: Cooldown.optional(),
});

const getVintage = ({ sourceUpdatedAt }: Pick<StatesResponse, "sourceUpdatedAt">): string | null =>
  sourceUpdatedAt ?? null;

export type Catalog = ReturnType<typeof createCatalog>;

/** `onPeerRead` receives the request time of each list that another process read and that is taken from the shared row. */
export function createCatalog(
  shared: SharedStoreOptions | undefined,
  now: () => number,
  onPeerRead: (readAt: number) => void,
) {
  const store = createGeographyStore(shared, now);
  let states: z.infer<typeof KnownStates> | undefined;
  const districts = new Map<string, KnownDistricts>();
  /** Request time of the first states list with a changed vintage: districts lists that were requested earlier are older. */
  let vintageChangedAt = Number.NEGATIVE_INFINITY;
  let cooldown: z.infer<typeof Cooldown> | undefined;
  /** Tasks of this process that use its lease. */
  const leaseUsers = new Set<object>();
  let saving: Promise<void> | undefined;
  let isSaved = true;

  /** A response from the future is not fresh: a clock is or was wrong, so its age is unknown. */
  function ifFresh<T extends DatedResponse<unknown>>(response: T | undefined, freshMs: number): T | undefined {
    if (response === undefined) return undefined;
    const ageMs = now() - response.readAt;
    return ageMs >= -MAX_CLOCK_SKEW_MS && ageMs < freshMs ? response : undefined;
  }

  const getStates = () => ifFresh(states, STATES_FRESH_MS);
  // The API may return an empty list for an unknown code (src/contract/open-questions.md, 9). The code may become known, so an
  // empty list is fresh only as long as the states list.
  const ifFreshList = (list: KnownDistricts | undefined) =>
    ifFresh(list, list?.value.districts.length === 0 ? STATES_FRESH_MS : DISTRICTS_FRESH_MS);
  const getDistricts = (code: string) => ifFreshList(districts.get(code.toUpperCase()));

  /** A cooldown that began in the future is void, because the clock has been set back. */
  const getCooldown = () => (cooldown && cooldown.askedAt <= now() + MAX_CLOCK_SKEW_MS ? cooldown : undefined);
  const cooldownUntilAt = (): number => getCooldown()?.untilAt ?? Number.NEGATIVE_INFINITY;

  function setStates(response: z.infer<typeof KnownStates>): void {
    const vintage = getVintage(response.value);
    if (states !== undefined && getVintage(states.value) !== vintage) vintageChangedAt = response.readAt;
    states = response;
    for (const [code, list] of districts) if (list.vintage !== vintage) districts.delete(code);
  }

  function merge(text: string): void {
    const stored = StoredCatalog.safeParse(parseJson(text)).data;
    if (stored === undefined) return;
    if (stored.cooldown && stored.cooldown.untilAt > cooldownUntilAt()) cooldown = stored.cooldown;
    const isNewer = (one: DatedResponse<unknown> | undefined, other: DatedResponse<unknown> | undefined): boolean =>
      one !== undefined && (other === undefined || one.readAt > other.readAt);
    const newStates = ifFresh(stored.states, STATES_FRESH_MS);
    if (newStates !== undefined && isNewer(newStates, getStates())) {
      setStates(newStates);
      onPeerRead(newStates.readAt);
    }
    for (const [code, list] of Object.entries(stored.districts)) {
      if (!isNewer(ifFreshList(list), getDistricts(code))) continue;
      if (states !== undefined && list.vintage !== getVintage(states.value)) continue;
      districts.set(code, list);
      onPeerRead(list.readAt);
    }
  }

  const load = (): Promise<void> => store.read(merge);

  const toText = (): string => {
    const lists = [...districts].filter(([, list]) => ifFreshList(list) !== undefined);
    return JSON.stringify({ states: getStates(), districts: Object.fromEntries(lists), cooldown: getCooldown() });
  };

  /** Writes all lists to the shared row. Resolves when other processes can read them. */
  function save(): Promise<void> {
    isSaved = false;
    saving ??= (async () => {
      while (!isSaved) {
        isSaved = true;
        while (!(await store.write(toText))) await load();
      }
      saving = undefined;
    })();
    return saving;
  }

  return {
    getStates,
    getDistricts,
    cooldownUntilAt,
    load,
    async storeStates(response: z.infer<typeof KnownStates>): Promise<void> {
      setStates(response);
      await save();
    },
    /** Stores a state's districts, unless the vintage has changed since their request. */
    async storeDistricts(code: string, response: Omit<KnownDistricts, "vintage">): Promise<void> {
      if (response.readAt < vintageChangedAt) return;
      districts.set(code.toUpperCase(), { ...response, vintage: getVintage(states?.value ?? response.value) });
      await save();
    },
    async storeCooldown(askedAt: number, untilAt: number): Promise<void> {
      cooldown = { askedAt, untilAt };
      await save();
    },
    /** Acquires or renews the lease for `user`, and loads the lists. Resolves with false while another process holds the lease. */
    async acquire(user: object): Promise<boolean> {
      const isAcquired = await store.acquire();
      if (isAcquired) leaseUsers.add(user);
      await load();
      return isAcquired;
    },
    /** Releases the lease if no other user in this process needs it. */
    async release(user: object): Promise<void> {
      if (leaseUsers.delete(user) && leaseUsers.size === 0) await store.release();
    },
    async close(): Promise<void> {
      await saving;
      await store.close();
    },
  };
}
