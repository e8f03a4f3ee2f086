// Retries each failed job that can be retried, once a day: for cron and CI. The key contains the date and the job, so a second run on the
// same day, also on another machine or after a crash, starts no second job. Usage: node retry-failed-jobs.mjs [YYYY-MM-DD]
import { call, connect } from "./connect.mjs";

const [date = new Date().toISOString().slice(0, 10)] = process.argv.slice(2);
const client = await connect("retry-failed-jobs");
try {
  // Jobs that share a failure are listed as a group.
  const { data, failures = [] } = await call(client, "list_jobs", { states: ["FAILED"], unretried: true, limit: 100 });
  const jobs = [...data.map(({ id }) => id), ...failures.flatMap(({ jobIds }) => jobIds)];
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
