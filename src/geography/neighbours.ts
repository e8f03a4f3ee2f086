// What the processes behind one address know of each other, in a database that all of them open: the requests that count now, the
// pause that the service asked for, and whose turn it is to read a list. A process that dies gives its share back by time.
import { randomUUID } from "node:crypto";
import * as z from "zod/v4";
import { ATTEMPT_LIMIT_MS } from "../service/attempts.ts";
import { type LedgerState, mayLeave, type RequestLimits, SLOWED_MS } from "./ledger.ts";

type Value = string | number | null;
type Query = (sql: string, values?: readonly Value[]) => Promise<readonly Readonly<Record<string, unknown>>[]>;

/** What is needed of a database: one SQL text with $1, $2 … for SQLite and PostgreSQL. */
export interface SharedDatabase {
  query: Query;
  /** Runs `work` all or nothing, with no other process in between; never twice at once. */
  exclusively(work: (query: Query) => Promise<void>): Promise<void>;
  /** SQL for the instant by the database's clock, as `now`, in milliseconds since 1970; undefined where all have one clock. */
  readonly clock: string | undefined;
  /** False where others would find another database in its place. */
  isInPlace(): boolean;
  close(): Promise<void>;
}

/** A list that takes longer may be read by another process, too: that costs a request. */
const TURN_MS = 10_000;

const TABLES = {
  geography_requests: "service TEXT NOT NULL, id TEXT NOT NULL, free_at BIGINT NOT NULL, PRIMARY KEY (service, id)",
  geography_pauses: "service TEXT PRIMARY KEY, frozen_until BIGINT NOT NULL, slowed_until BIGINT NOT NULL",
  geography_turns: `service TEXT NOT NULL, list TEXT NOT NULL, owner TEXT NOT NULL, until_at BIGINT NOT NULL,
    PRIMARY KEY (service, list)`,
};

/** By the clock that all processes share. */
export async function instantOf({ clock }: SharedDatabase, query: Query, now: () => number): Promise<number> {
  if (clock === undefined) return now();
  const [row] = await query(clock);
  return Instant.parse(row).now;
}

/** Where they are not there yet: the right to make them is needed once. */
export async function makeTables(database: SharedDatabase, tables: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, columns] of Object.entries(tables)) {
    const isThere = await database.query(`SELECT 1 FROM ${name} WHERE 1 = 0`).then(
      () => true,
      () => false,
    );
    if (!isThere)
      await database.exclusively(async (query) => {
        await query(`CREATE TABLE IF NOT EXISTS ${name} (${columns})`);
      });
  }
}

const Instant = z.object({ now: z.number() });
const FreeAt = z.object({ free_at: z.number() });
const Pause = z.object({ frozen_until: z.number(), slowed_until: z.number() });

export interface NeighboursOptions {
  readonly open: () => Promise<SharedDatabase>;
  /** Whose requests they are. Throws Failure where no service is configured. */
  readonly baseUrl: () => Promise<string>;
  readonly limits: RequestLimits;
  readonly windowMs: number;
  /** Our own clock. */
  readonly now: () => number;
}

/** Every method throws where the database cannot be used. */
export class Neighbours {
  readonly #options: NeighboursOptions;
  readonly #owner = randomUUID();
  #database: SharedDatabase | undefined;
  /** One after the other: a connection has one transaction at a time. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: NeighboursOptions) {
    this.#options = options;
  }

  /** Enters a request, if it may leave now; and how things stand then. */
  async take(isUrgent: boolean): Promise<{ readonly id: string | undefined; readonly state: LedgerState }> {
    const { limits, windowMs } = this.#options;
    let id: string | undefined;
    const state = await this.#look(async (query, service, now) => {
      const known = await stateOf(query, service);
      if (!mayLeave(known, limits, isUrgent, now)) return known;
      id = randomUUID();
      // Should this process die with it, it counts for as long as it can have been under way.
      const freeAt = now + ATTEMPT_LIMIT_MS + windowMs;
      const values = [service, id, freeAt];
      await query("INSERT INTO geography_requests (service, id, free_at) VALUES ($1, $2, $3)", values);
      return { ...known, freeAt: [...known.freeAt, freeAt] };
    });
    return { id, state };
  }

  end(id: string): Promise<LedgerState> {
    return this.#look(async (query, service, now) => {
      const values = [service, id, now + this.#options.windowMs];
      await query("UPDATE geography_requests SET free_at = $3 WHERE service = $1 AND id = $2", values);
      return await stateOf(query, service);
    });
  }

  giveBack(id: string): Promise<LedgerState> {
    return this.#look(async (query, service) => {
      await query("DELETE FROM geography_requests WHERE service = $1 AND id = $2", [service, id]);
      return await stateOf(query, service);
    });
  }

  pause(ms: number): Promise<LedgerState> {
    return this.#look(async (query, service, now) => {
      const known = await stateOf(query, service);
      const frozenUntilAt = Math.max(now + ms, known.frozenUntilAt);
      const slowedUntilAt = Math.max(frozenUntilAt + SLOWED_MS, known.slowedUntilAt);
      await query("DELETE FROM geography_pauses WHERE service = $1", [service]);
      const values = [service, frozenUntilAt, slowedUntilAt];
      await query("INSERT INTO geography_pauses (service, frozen_until, slowed_until) VALUES ($1, $2, $3)", values);
      return { ...known, frozenUntilAt, slowedUntilAt };
    });
  }

  /** Whether the list is ours to read now: no other process is at it. */
  async takeTurn(list: string): Promise<boolean> {
    let isOurs = false;
    await this.#run(async (query, service, now) => {
      await query("DELETE FROM geography_turns WHERE until_at <= $1", [now]);
      const held = await query("SELECT 1 FROM geography_turns WHERE service = $1 AND list = $2 AND owner <> $3", [
        service,
        list,
        this.#owner,
      ]);
      isOurs = held.length === 0;
      if (!isOurs) return;
      // Our own may be left of a reading that was given up.
      await query("DELETE FROM geography_turns WHERE service = $1 AND list = $2", [service, list]);
      const values = [service, list, this.#owner, now + TURN_MS];
      await query("INSERT INTO geography_turns (service, list, owner, until_at) VALUES ($1, $2, $3, $4)", values);
    });
    return isOurs;
  }

  endTurn(list: string): Promise<void> {
    return this.#run(async (query, service) => {
      const values = [service, list, this.#owner];
      await query("DELETE FROM geography_turns WHERE service = $1 AND list = $2 AND owner = $3", values);
    });
  }

  async close(): Promise<void> {
    await this.#last.catch(() => undefined);
    await this.#database?.close().catch(() => undefined);
    this.#database = undefined;
  }

  /** Does `work` on what counts still; its state by our own clock. */
  async #look(work: (query: Query, service: string, now: number) => Promise<LedgerState>): Promise<LedgerState> {
    const { windowMs, now: ownNow } = this.#options;
    let state: LedgerState = { freeAt: [], frozenUntilAt: 0, slowedUntilAt: 0 };
    let lead = 0;
    await this.#run(async (query, service, now) => {
      await query("DELETE FROM geography_requests WHERE free_at <= $1", [now]);
      state = await work(query, service, now);
      lead = now - ownNow();
    });
    const own = (at: number): number => at - lead;
    // Of one under way nobody knows the end: at the earliest it is now.
    const earliest = ownNow() + windowMs;
    return {
      freeAt: state.freeAt.map((at) => Math.min(own(at), earliest)),
      frozenUntilAt: own(state.frozenUntilAt),
      slowedUntilAt: own(state.slowedUntilAt),
    };
  }

  #run(work: (query: Query, service: string, now: number) => Promise<void>): Promise<void> {
    const run = this.#last
      .catch(() => undefined)
      .then(async () => {
        const [database, service] = [await this.#open(), await this.#options.baseUrl()];
        const { now } = this.#options;
        await database.exclusively(async (query) => work(query, service, await instantOf(database, query, now)));
      });
    this.#last = run;
    return run;
  }

  async #open(): Promise<SharedDatabase> {
    if (this.#database?.isInPlace()) return this.#database;
    await this.#database?.close().catch(() => undefined);
    this.#database = undefined;
    const database = await this.#options.open();
    try {
      await makeTables(database, TABLES);
    } catch (error) {
      await database.close().catch(() => undefined);
      throw error;
    }
    this.#database = database;
    return database;
  }
}

async function stateOf(query: Query, service: string): Promise<LedgerState> {
  const requests = await query("SELECT free_at FROM geography_requests WHERE service = $1 ORDER BY free_at", [service]);
  const [row] = await query("SELECT frozen_until, slowed_until FROM geography_pauses WHERE service = $1", [service]);
  const pause = row === undefined ? undefined : Pause.parse(row);
  return {
    freeAt: requests.map((each) => FreeAt.parse(each).free_at),
    frozenUntilAt: pause?.frozen_until ?? 0,
    slowedUntilAt: pause?.slowed_until ?? 0,
  };
}
