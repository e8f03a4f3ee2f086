// What instances share of the sessions of one team: what they listen to, and what their people are asked.
import * as z from "zod/v4";
import type { Database } from "../actions/database.ts";
import type { SessionRows } from "../mcp/http/sealed/port.ts";

/** Times are milliseconds since 1970. `version`: which one the client can know of. `answer`: JSON of the message. */
export const SESSION_TABLES = {
  subscriptions: `session TEXT NOT NULL, uri TEXT NOT NULL, team TEXT NOT NULL, version BIGINT, until BIGINT NOT NULL,
    PRIMARY KEY (session, uri)`,
  session_questions: `session TEXT NOT NULL, question TEXT NOT NULL, answer TEXT, until BIGINT NOT NULL,
    PRIMARY KEY (session, question)`,
};

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
    async ask(session, question, until) {
      await query("DELETE FROM session_questions WHERE until < $1", [Date.now()]);
      await query("INSERT INTO session_questions (session, question, until) VALUES ($1, $2, $3)", [
        session,
        question,
        until,
      ]);
    },
    async answer(session, question, json) {
      // The first answer counts.
      const kept = await query(
        `UPDATE session_questions SET answer = $3
         WHERE session = $1 AND question = $2 AND answer IS NULL AND until > $4 RETURNING question`,
        [session, question, json, Date.now()],
      );
      return kept.length > 0;
    },
    async takeAnswer(session, question) {
      const [row] = await query(
        "DELETE FROM session_questions WHERE session = $1 AND question = $2 AND answer IS NOT NULL RETURNING answer",
        [session, question],
      );
      return row && AnswerRow.parse(row).answer;
    },
    async withdraw(session, question) {
      await query("DELETE FROM session_questions WHERE session = $1 AND question = $2", [session, question]);
    },
    async end(session) {
      await query("DELETE FROM subscriptions WHERE session = $1", [session]);
      await query("DELETE FROM session_questions WHERE session = $1", [session]);
    },
  };
}
