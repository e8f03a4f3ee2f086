// The rest that the service asked a team for, as all instances of a deployment know it: a row for each team, read with the call, by
// the database's clock. A notice makes it known at once.
import * as z from "zod/v4";
import type { Database } from "../actions/database.ts";
import { soonOr } from "../async.ts";
import type { Cooldown } from "../service/cooldown.ts";

/** Says which team's row has changed. */
export const REST_CHANNEL = "mic_rest";

/** Of notices between instances, what is needed here. */
export interface RestNotices {
  send(channel: string, text: string): Promise<void>;
  on(channel: string, hear: (text: string) => void): unknown;
}

export interface ServiceRestOptions {
  readonly database: Pick<Database, "query">;
  /** Absent, a rest is known to others within READ_AGAIN_MS. */
  readonly notices?: RestNotices;
  /** Our own clock: milliseconds since 1970. */
  readonly now: () => number;
}

/** A row that was read so lately is not read again: reads of one call, and of many calls, come in crowds. */
const READ_AGAIN_MS = 1_000;
/** No call waits longer for a database that does not answer: what is known here has to do. */
const PATIENCE_MS = 1_000;
const NOW = "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)";

/** Times are milliseconds since 1970. */
export const SERVICE_REST_TABLES = { service_rest: "team TEXT PRIMARY KEY, until_at BIGINT NOT NULL" };

const Row = z.object({ left_ms: z.number() });

interface Known {
  /** By our own clock. A rest never gets shorter. */
  untilAt: number;
  readAt: number;
  reading: Promise<void> | undefined;
}

export type ServiceRests = ReturnType<typeof createServiceRests>;

export function createServiceRests({ database: { query }, notices, now }: ServiceRestOptions) {
  const teams = new Map<string, Known>();
  notices?.on(REST_CHANNEL, (team) => {
    const known = teams.get(team);
    if (known) known.readAt = Number.NEGATIVE_INFINITY;
  });

  function knownOf(team: string): Known {
    const known = teams.get(team) ?? { untilAt: 0, readAt: Number.NEGATIVE_INFINITY, reading: undefined };
    teams.set(team, known);
    return known;
  }

  async function read(team: string, known: Known): Promise<void> {
    // A notice that comes while it is asked for is no answer to that.
    known.readAt = now();
    try {
      const [row] = await query(`SELECT until_at - ${NOW} AS left_ms FROM service_rest WHERE team = $1`, [team]);
      if (row !== undefined) known.untilAt = Math.max(known.untilAt, now() + Row.parse(row).left_ms);
    } catch {
      // What was known has to do: that the database cannot be asked is no reason to send nothing.
    }
    known.reading = undefined;
  }

  async function write(team: string, ms: number): Promise<void> {
    await query(
      `INSERT INTO service_rest (team, until_at) VALUES ($1, ${NOW} + CAST($2 AS BIGINT))
       ON CONFLICT (team) DO UPDATE SET until_at = GREATEST(service_rest.until_at, excluded.until_at)`,
      [team, ms],
    );
    await notices?.send(REST_CHANNEL, team);
  }

  return {
    /** For how many milliseconds the team that rests longest still does, as far as this instance knows. */
    longestMs: (): number =>
      [...teams.values()].reduce((longest, { untilAt }) => Math.max(longest, untilAt - now()), 0),

    /** Of one team. */
    of(team: string): Cooldown {
      return {
        async leftMs() {
          const known = knownOf(team);
          if (now() - known.readAt >= READ_AGAIN_MS) known.reading ??= read(team, known);
          if (known.reading) await soonOr(known.reading, undefined, PATIENCE_MS);
          return known.untilAt - now();
        },
        async record(ms) {
          const known = knownOf(team);
          known.untilAt = Math.max(known.untilAt, now() + ms);
          // Where it cannot be written, this instance rests in any case.
          const telling = write(team, Math.round(ms)).catch(() => undefined);
          await soonOr(telling, undefined, PATIENCE_MS);
        },
      };
    },
  };
}
