// Mutants of tools with several actions: earlier results are found, and nothing is sent that must not be sent.
import { builtServerTest, inProcessTest, type Mutant } from "./mutant.ts";

const attempts = inProcessTest("test/api-client/retries.test.ts");
const retryJobs = builtServerTest("test/tools/retry-jobs.test.ts");
const runJob = builtServerTest("test/tools/run-job.test.ts");

export const multiStepMutants: readonly Mutant[] = [
  runJob("a refused submission states which inputs were registered", {
    "run_job says that nothing was changed when a step before has taken effect": [
      'if (registered.length === 0 && (sideEffect === "none" || isSubmitted)) return failure;',
      'if (registered.join() !== "") return failure;',
    ],
  }),
  retryJobs("jobs that were retried before are reported and not retried again", {
    "retry_jobs sends a retry for a job that was retried before": [
      "if (retry) {\n    const newJobId",
      "if (retry && jobId === '') {\n    const newJobId",
    ],
  }),
  attempts("a Retry-After that one of several requests receives delays the others", {
    "a Retry-After of one request lets the others of its call go on": [
      "const waitMs = Math.max(ownWaitMs, (sharedRetryAfter?.heldUntilAt ?? now) - now);",
      "const waitMs = ownWaitMs;",
    ],
  }),
  retryJobs("RESTART asks the user once for all jobs; declined, nothing is sent", {
    "a tool of many actions asks no user when one of them is in the journal": [
      "if ((await ports.actions.findExisting(action)) === undefined) return false;",
      "if ((await ports.actions.findExisting(action)) !== undefined) return true;",
    ],
  }),
].flat();
