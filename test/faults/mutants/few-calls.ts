// Tools of several actions: what was done before is found, and what must not be sent is not.
import { inside, type Mutant, outside } from "./mutant.ts";

const attempts = inside("test/service/attempts.test.ts");
const killed = outside("test/faults/few-calls.test.ts");
const retryJobs = outside("test/tools/retry-jobs.test.ts");
const runJob = outside("test/tools/run-job.test.ts");

export const fewCallsMutants: readonly Mutant[] = [
  {
    what: "run_job registers a file anew that the journal knows as registered",
    code: "for (const registration of registrations) {",
    instead: "for (const registration of registrations.slice(0, 0)) {",
    seenBy: runJob("a file that was registered and heard of before is not registered anew"),
  },
  {
    what: "run_job submits another job when its file was registered once more since",
    code: "if (before) {\n    await settleBound",
    instead: "if (before && sources.length === 0) {\n    await settleBound",
    seenBy: killed("another registration of the file since does not make it another job"),
  },
  {
    what: "run_job says that nothing was changed when a step before has taken effect",
    code: 'sideEffect: sideEffect === "none" ? "done" : sideEffect,',
    instead: "sideEffect,",
    seenBy: runJob("what took effect before a step that was refused is told"),
  },
  {
    what: "retry_jobs sends a retry for a job that was retried before",
    code: "if (!retry) return undefined;\n  const newJobId",
    instead: "if (!retry || jobId !== '') return undefined;\n  const newJobId",
    seenBy: retryJobs("jobs that were retried before are named and not sent"),
  },
  {
    what: "retry_jobs goes past a retry of unknown outcome in another mode",
    code: "if (unsettled) {\n    const { idempotencyKey }",
    instead: "if (unsettled && jobId === '') {\n    const { idempotencyKey }",
    seenBy: retryJobs("an unknown outcome has a key, and the next step settles it"),
  },
  {
    what: "a Retry-After of one request lets the others of its call go on",
    code: "const waitMs = Math.max(ownWaitMs, (pace?.heldUntilAt ?? now) - now);",
    instead: "const waitMs = ownWaitMs;",
    seenBy: attempts("a Retry-After that one of several requests gets holds the others"),
  },
  {
    what: "a tool of many actions asks nobody when one of them is in the journal",
    code: "for (const action of actions) if (!(await ports.actions.isKnown(action))) return false;",
    instead: "for (const action of actions) if (await ports.actions.isKnown(action)) return true;",
    seenBy: retryJobs("RESTART asks the person once for all; declined, nothing is sent"),
  },
];
