// What the processes behind one address know of each other, in a database that all of them open: the requests that count now with the
// list that each reads, and the rest that the service asked for. A process that dies gives its share back by time.
import { randomUUID } from "node:crypto";
import * as z from "zod/v4";
import { ATTEMPT_LIMIT_MS } from "../api-client/attempts.ts";
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

/**
 * Instants are milliseconds since 1970, `budget` is the address that requests leave by. A permit is a request that counts until
 * `free_at`; `what`: the list that it reads, until others can find that. No two read the same.
 */
export const GEOGRAPHY_TABLES = {
  geography_permits: `budget TEXT NOT NULL, id TEXT NOT NULL, what TEXT, begun_at BIGINT NOT NULL, free_at BIGINT NOT NULL,
    PRIMARY KEY (budget, id), UNIQUE (budget, what)`,
  geography_rest: "budget TEXT PRIMARY KEY, until_at BIGINT NOT NULL, slowed_until BIGINT NOT NULL",
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
const Rest = z.object({ until_at: z.number(), slowed_until: z.number() });

export interface NeighboursOptions {
  readonly open: () => Promise<SharedDatabase>;
  /** Whose requests they are. Throws Failure where no service is configured. */
  readonly baseUrl: () => Promise<string>;
  /** Names the address that they leave by: the service counts by it. */
  readonly budget?: string | undefined;
  readonly limits: RequestLimits;
  readonly windowMs: number;
  /** Our own clock. */
  readonly now: () => number;
}

/** Every method throws where the database cannot be used. */
export class Neighbours {
  readonly #options: NeighboursOptions;
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
    const state = await this.#look(async (query, budget, now) => {
      const known = await stateOf(query, budget);
      if (!mayLeave(known, limits, isUrgent, now)) return known;
      id = randomUUID();
      // Should this process die with it, it counts as one that ended when its time was over.
      const freeAt = now + ATTEMPT_LIMIT_MS + windowMs;
      const values = [budget, id, now, freeAt];
      await query("INSERT INTO geography_permits (budget, id, begun_at, free_at) VALUES ($1, $2, $3, $4)", values);
      return { ...known, freeAt: [...known.freeAt, freeAt] };
    });
    return { id, state };
  }

  end(id: string): Promise<LedgerState> {
    return this.#look(async (query, budget, now) => {
      const values = [budget, id, now + this.#options.windowMs];
      await query("UPDATE geography_permits SET free_at = $3 WHERE budget = $1 AND id = $2", values);
      return await stateOf(query, budget);
    });
  }

  /** Its turn goes with it. */
  giveBack(id: string): Promise<LedgerState> {
    return this.#look(async (query, budget) => {
      await query("DELETE FROM geography_permits WHERE budget = $1 AND id = $2", [budget, id]);
      return await stateOf(query, budget);
    });
  }

  pause(ms: number): Promise<LedgerState> {
    return this.#look(async (query, budget, now) => {
      const known = await stateOf(query, budget);
      const frozenUntilAt = Math.max(now + ms, known.frozenUntilAt);
      const slowedUntilAt = Math.max(frozenUntilAt + SLOWED_MS, known.slowedUntilAt);
      await query("DELETE FROM geography_rest WHERE budget = $1", [budget]);
      const values = [budget, frozenUntilAt, slowedUntilAt];
      await query("INSERT INTO geography_rest (budget, until_at, slowed_until) VALUES ($1, $2, $3)", values);
      return { ...known, frozenUntilAt, slowedUntilAt };
    });
  }

  /** Whether this request may read the list: no other is at it. */
  async takeTurn(id: string, list: string): Promise<boolean> {
    let isOurs = false;
    await this.#run(async (query, budget, now) => {
      // No request is under way for longer: its process has died, or could not say that it was over.
      const deadSince = now - ATTEMPT_LIMIT_MS;
      await query("UPDATE geography_permits SET what = NULL WHERE budget = $1 AND begun_at <= $2", [budget, deadSince]);
      const held = await query("SELECT 1 FROM geography_permits WHERE budget = $1 AND what = $2", [budget, list]);
      isOurs = held.length === 0;
      if (isOurs)
        await query("UPDATE geography_permits SET what = $3 WHERE budget = $1 AND id = $2", [budget, id, list]);
    });
    return isOurs;
  }

  endTurn(id: string): Promise<void> {
    return this.#run(async (query, budget) => {
      await query("UPDATE geography_permits SET what = NULL WHERE budget = $1 AND id = $2", [budget, id]);
    });
  }

  async close(): Promise<void> {
    await this.#last.catch(() => undefined);
    await this.#database?.close().catch(() => undefined);
    this.#database = undefined;
  }

  /** Does `work` on what counts still; its state by our own clock. */
  async #look(work: (query: Query, budget: string, now: number) => Promise<LedgerState>): Promise<LedgerState> {
    const { windowMs, now: ownNow } = this.#options;
    let state: LedgerState = { freeAt: [], frozenUntilAt: 0, slowedUntilAt: 0 };
    let lead = 0;
    await this.#run(async (query, budget, now) => {
      await query("DELETE FROM geography_permits WHERE free_at <= $1", [now]);
      state = await work(query, budget, now);
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

  #run(work: (query: Query, budget: string, now: number) => Promise<void>): Promise<void> {
    const run = this.#last
      .catch(() => undefined)
      .then(async () => {
        const { now, baseUrl, budget } = this.#options;
        const [database, service] = [await this.#open(), await baseUrl()];
        // Each service counts for itself.
        const name = budget === undefined ? service : `${budget} ${service}`;
        await database.exclusively(async (query) => work(query, name, await instantOf(database, query, now)));
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
      await makeTables(database, GEOGRAPHY_TABLES);
    } catch (error) {
      await database.close().catch(() => undefined);
      throw error;
    }
    this.#database = database;
    return database;
  }
}

async function stateOf(query: Query, budget: string): Promise<LedgerState> {
  const permits = await query("SELECT free_at FROM geography_permits WHERE budget = $1 ORDER BY free_at", [budget]);
  const [row] = await query("SELECT until_at, slowed_until FROM geography_rest WHERE budget = $1", [budget]);
  const rest = row === undefined ? undefined : Rest.parse(row);
  return {
    freeAt: permits.map((each) => FreeAt.parse(each).free_at),
    frozenUntilAt: rest?.until_at ?? 0,
    slowedUntilAt: rest?.slowed_until ?? 0,
  };
}
