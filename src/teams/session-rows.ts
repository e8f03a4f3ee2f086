// What instances share of the sessions of one team: what they listen to, and answers on their way to the instance that asked.
import * as z from "zod/v4";
import type { Database } from "../actions/database.ts";
import type { SessionRows } from "../mcp/http/sealed/port.ts";

const SubscriptionRow = z.object({ uri: z.string(), version: z.int().nullable() });
const AnswerRow = z.object({ answer: z.string() });

export function createSessionRows({ query }: Pick<Database, "query">, team: string): SessionRows {
  return {
    async subscribe(session, { uri, version }, { until, max }) {
      await query("DELETE FROM subscriptions WHERE until < $1", [Date.now()]);
      const taken = await query(
        `INSERT INTO subscriptions (session, uri, team, version, until)
         SELECT $1, $2, $3, CAST($4 AS BIGINT), CAST($5 AS BIGINT)
           WHERE (SELECT COUNT(*) FROM subscriptions WHERE session = $1 AND uri <> $2) < $6
         ON CONFLICT (session, uri) DO UPDATE SET version = excluded.version, until = excluded.until RETURNING uri`,
        [session, uri, team, version, until, max],
      );
      return taken.length > 0;
    },
    async unsubscribe(session, uri) {
      await query("DELETE FROM subscriptions WHERE session = $1 AND uri = $2", [session, uri]);
    },
    async told(session, { uri, version }) {
      await query("UPDATE subscriptions SET version = $3 WHERE session = $1 AND uri = $2", [session, uri, version]);
    },
    async subscriptions(session) {
      const rows = await query(
        "SELECT uri, version FROM subscriptions WHERE session = $1 AND team = $2 AND until > $3 ORDER BY uri",
        [session, team, Date.now()],
      );
      return rows.map((row) => SubscriptionRow.parse(row));
    },
    async keepAnswer(session, question, json, until) {
      await query("DELETE FROM session_answers WHERE until < $1", [Date.now()]);
      // The first answer counts.
      await query(
        `INSERT INTO session_answers (session, question, answer, until) VALUES ($1, $2, $3, $4)
         ON CONFLICT (session, question) DO NOTHING`,
        [session, question, json, until],
      );
    },
    async takeAnswer(session, question) {
      const [row] = await query("DELETE FROM session_answers WHERE session = $1 AND question = $2 RETURNING answer", [
        session,
        question,
      ]);
      return row && AnswerRow.parse(row).answer;
    },
    async end(session) {
      await query("DELETE FROM subscriptions WHERE session = $1", [session]);
      await query("DELETE FROM session_answers WHERE session = $1", [session]);
    },
  };
}
