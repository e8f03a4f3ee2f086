// Retries each failed job that can be retried, once a day: for cron and CI. The key contains the date and the job, so a second run on the
// same day, also on another machine or after a crash, starts no second job. Usage: node retry-failed-jobs.mjs [YYYY-MM-DD]
import { call, connect } from "./connect.mjs";

const [date = new Date().toISOString().slice(0, 10)] = process.argv.slice(2);
const client = await connect("retry-failed-jobs");
try {
  const jobs = [];
  let cursor;
  do {
    // The summary view names only some of the jobs that share a failure.
    const { data, page } = await call(client, "list_jobs", { unretried: true, view: "full", limit: 100, cursor });
    jobs.push(...data.map(({ id }) => id));
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  for (const id of jobs) {
    const key = `nightly-${date}-${id}`;
    try {
      const { data: retry, action } = await call(client, "retry_job", {
        jobId: id,
        retryMode: "SAFE_RESUME",
        reason: `Nightly retry of ${date}`,
        idempotencyKey: key,
      });
      console.log(`${id}: ${action.replayed ? "already retried as" : "retried as"} ${retry.id}`);
    } catch (error) {
      // The next run with the same date resolves an unknown outcome: it uses the same key.
      console.error(`${id}: ${error.message}`);
      process.exitCode = 1;
    }
  }
  console.log(`${jobs.length} failed jobs on ${date}`);
} finally {
  await client.close();
}
