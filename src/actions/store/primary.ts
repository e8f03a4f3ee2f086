// This module finds the primary of several PostgreSQL servers, which accepts writes, and rejects a former primary that returns
// after a failover.
import { setTimeout as sleep } from "node:timers/promises";
import { errorCode, errorMessage } from "../../core/failure.ts";
import { type Connection, createConnection, NoPrimary } from "./connection.ts";

/** Time limit of the search for the primary. A failover takes some seconds. */
export const FIND_TIMEOUT_MS = 10_000;
const QUERY_TIMEOUT_MS = 2_000;
/** Time for the other servers to respond after the first one that may be the primary. */
const GRACE_MS = 300;
const PAUSE_MS = 100;

/** A promoted primary writes on a new timeline. (The timeline in pg_control_checkpoint is only as recent as the last checkpoint.) */
const ROLE_SQL = `SELECT CASE WHEN pg_is_in_recovery() THEN 0
  ELSE ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int END AS timeline`;

/** Callers may see the reason, but not the addresses in a deployment's network, so a socket error is reduced to its code. */
function reasonWithoutAddress(error: unknown): string {
  const code = errorCode(error);
  return code.startsWith("E") ? code : errorMessage(error) || "no answer";
}

export function createPrimaryFinder(urls: readonly string[]) {
  /** The latest timeline so far. A server on an older one is a former primary. */
  let latestTimeline = 1;

  async function readTimeline(connection: Connection): Promise<number> {
    const [row] = await connection.run(ROLE_SQL);
    const timeline = Number(row?.["timeline"]);
    if (timeline === 0) throw new NoPrimary("it is a standby");
    if (timeline < latestTimeline) throw new NoPrimary("it was the primary before a failover");
    return timeline;
  }

  async function queryTimeline(url: string): Promise<number> {
    const connection = createConnection({ url, name: "mic-mcp", timeoutMs: QUERY_TIMEOUT_MS });
    return await readTimeline(connection).finally(connection.close);
  }

  /** Queries all servers at once. Returns the one on the latest timeline of those that respond in time. */
  async function queryAllServers() {
    const found: { url: string; timeline: number }[] = [];
    const reasons: string[] = [];
    const queries = urls.map(async (url, at) => {
      try {
        found.push({ url, timeline: await queryTimeline(url) });
      } catch (error) {
        reasons.push(`number ${at + 1}: ${reasonWithoutAddress(error)}`);
        throw error;
      }
    });
    const first = Promise.any(queries).then(() => sleep(GRACE_MS, undefined, { ref: false }));
    await Promise.race([Promise.allSettled(queries), first.catch(() => Promise.allSettled(queries))]);
    const [best] = found.sort((one, other) => other.timeline - one.timeline);
    latestTimeline = Math.max(latestTimeline, best?.timeline ?? 0);
    return { best: best?.url, reasons };
  }

  return {
    /** Returns the URL of the primary. Throws NoPrimary after FIND_TIMEOUT_MS. */
    async find(): Promise<string> {
      const endsAt = performance.now() + FIND_TIMEOUT_MS;
      for (;;) {
        const { best, reasons } = await queryAllServers();
        if (best !== undefined) return best;
        if (performance.now() > endsAt) throw new NoPrimary(`no server takes writes (${reasons.join("; ")})`);
        await sleep(PAUSE_MS);
      }
    },
    /** Throws NoPrimary if the server behind a connection is not the primary. */
    async check(connection: Connection): Promise<void> {
      latestTimeline = Math.max(latestTimeline, await readTimeline(connection));
    },
  };
}
