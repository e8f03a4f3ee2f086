// Mutants of tools with several actions: earlier results are found, and nothing is sent that must not be sent.
import { builtServerTest, inProcessTest, type Mutant } from "./mutant.ts";

const attempts = inProcessTest("test/api-client/retries.test.ts");
const retryJobs = builtServerTest("test/tools/retry-jobs.test.ts");
const runJob = builtServerTest("test/tools/run-job.test.ts");

export const multiStepMutants: readonly Mutant[] = [
  {
    what: "run_job says that nothing was changed when a step before has taken effect",
    code: 'if (registered.length === 0 && (sideEffect === "none" || isSubmitted)) return failure;',
    replacement: 'if (registered.join() !== "") return failure;',
    killedBy: runJob("a refused submission states which inputs were registered"),
  },
  {
    what: "retry_jobs sends a retry for a job that was retried before",
    code: "if (retry) {\n    const newJobId",
    replacement: "if (retry && jobId === '') {\n    const newJobId",
    killedBy: retryJobs("jobs that were retried before are reported and not retried again"),
  },
  {
    what: "a Retry-After of one request lets the others of its call go on",
    code: "const waitMs = Math.max(ownWaitMs, (sharedRetryAfter?.heldUntilAt ?? now) - now);",
    replacement: "const waitMs = ownWaitMs;",
    killedBy: attempts("a Retry-After that one of several requests receives delays the others"),
  },
  {
    what: "a tool of many actions asks no user when one of them is in the journal",
    code: "if ((await ports.actions.findExisting(action)) === undefined) return false;",
    replacement: "if ((await ports.actions.findExisting(action)) !== undefined) return true;",
    killedBy: retryJobs("RESTART asks the user once for all jobs; declined, nothing is sent"),
  },
];
