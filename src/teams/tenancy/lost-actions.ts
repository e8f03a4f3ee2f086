// Guards against repeating actions that a restore or a failover lost: for one deduplication window, the first new action of each caller
// without a key is refused, because it may have run. The API recognizes an action with a key.
import * as z from "zod/v4";
import { DEDUPLICATION_WINDOW_MS } from "../../actions/deduplication-window.ts";
import { deriveRepeatKey } from "../../actions/idempotency-keys.ts";
import type { NewAction } from "../../actions/journal.ts";
import { Failure } from "../../core/failure.ts";
import { call, raw, say, type Text, withKey } from "../../core/text.ts";
import { type Database, POSTGRES_CLOCK } from "../../store/database.ts";
import type { TimeRange } from "../variables.ts";

/** When each caller, by their service in the journal, got the notice of the loss that ended at `lost_until`. */
export const LOSS_TABLES = {
  loss_notices: "service TEXT PRIMARY KEY, lost_until BIGINT NOT NULL, noticed_at BIGINT NOT NULL",
};

/** Calls that were made together with the refused one are refused, too: their caller did not know about the loss. */
const TOGETHER_MS = 45_000;

const NOTICE_SQL = `INSERT INTO loss_notices AS n (service, lost_until, noticed_at) VALUES ($1, CAST($2 AS BIGINT), ${POSTGRES_CLOCK})
  ON CONFLICT (service) DO UPDATE SET lost_until = GREATEST(n.lost_until, EXCLUDED.lost_until),
    noticed_at = CASE WHEN n.lost_until < EXCLUDED.lost_until THEN EXCLUDED.noticed_at ELSE n.noticed_at END
  RETURNING ${POSTGRES_CLOCK} - noticed_at AS age_ms`;
const NoticeRow = z.object({ age_ms: z.int() });

const toIsoSeconds = (at: Date): string => at.toISOString().replace(/\.000Z$/, "Z");

/** `readRange`: the time range of the lost actions. */
export function createLossGuard(
  { query }: Pick<Database, "query">,
  readRange: () => TimeRange | undefined,
  now: () => number,
) {
  const activeRange = (): TimeRange | undefined => {
    const range = readRange();
    return range && now() <= range.to.getTime() + DEDUPLICATION_WINDOW_MS ? range : undefined;
  };
  const lackText = ({ from, to }: TimeRange): Text =>
    say`The journal was restored from a backup or an older replica: it lacks actions from ${raw(toIsoSeconds(from))} to ${raw(toIsoSeconds(to))}.`;

  return {
    /** A text for the list of actions; undefined when the deduplication window of the last lost action is over. */
    notice(): Text | undefined {
      const range = activeRange();
      return range && lackText(range);
    },

    /** Throws Failure for a new action that may have run in the range, if its caller has not got the notice yet. */
    async check({ service, tool, arguments: args, isExplicit }: NewAction): Promise<void> {
      const range = activeRange();
      if (!range || isExplicit) return;
      const until = range.to.getTime();
      const [row] = await query(NOTICE_SQL, [service, until]);
      if (NoticeRow.parse(row).age_ms >= TOGETHER_MS) return;
      const key = deriveRepeatKey(JSON.stringify([service, tool, args, until]));
      throw new Failure({
        kind: "conflict",
        message: say`Not sent: this action may have run before. ${lackText(range)}`,
        retryable: false,
        sideEffect: "none",
        next:
          tool === "register_input"
            ? say`Call again and ${withKey(key)}: a second input of the same file does no harm.`
            : say`Check with ${call("list_jobs", {})} whether it ran. If it did not, call again and ${withKey(key)}.`,
      });
    },
  };
}
