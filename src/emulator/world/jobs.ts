// Stores the workspace's jobs in order of creation, and computes the jobs and their cancellation operations at a given time.
import { cancelMicJob } from "../../contract/endpoints/job-processing.ts";
import type { Job } from "../../contract/jobs.ts";
import type { Operation } from "../../contract/operation.ts";
import { BoundedMap } from "../../core/bounded-map.ts";
import { CANCELLATION_TYPE, MAX_ENTRIES } from "../assumptions.ts";
import { toInstant } from "../clock.ts";
import { type Cancellation, isTerminal, type JobPlan, jobAt } from "./lifecycle.ts";
import type { Recipe } from "./recipes.ts";

export interface JobRecord {
  /** Position in the list: higher is newer. */
  readonly sequence: number;
  readonly initial: Job;
  /** Undefined for seeded jobs that do not change. */
  readonly plan: JobPlan | undefined;
  readonly recipe: Recipe;
  readonly retryOutcome: JobPlan["outcome"];
  cancellation?: Cancellation;
  latestRetry?: JobRecord;
}

export class Jobs {
  readonly #jobs = new BoundedMap<string, JobRecord>(MAX_ENTRIES.jobs);
  #nextSequence = 0;

  add(facts: Omit<JobRecord, "sequence">): JobRecord {
    const record: JobRecord = { ...facts, sequence: this.#nextSequence };
    this.#nextSequence += 1;
    this.#jobs.set(record.initial.id, record);
    return record;
  }

  find(id: string): JobRecord | undefined {
    return this.#jobs.get(id);
  }

  /** Returns at most `limit` jobs below this sequence number, newest first. */
  page(beforeSequence: number, limit: number): readonly JobRecord[] {
    const earlier = [...this.#jobs.values()].filter(({ sequence }) => sequence < beforeSequence);
    return earlier.slice(-limit).reverse();
  }

  jobAt(record: JobRecord, now: number): Job {
    return jobAt(record.initial, record.plan, record.cancellation, now);
  }

  hasActiveRetry(record: JobRecord, now: number): boolean {
    if (record.latestRetry === undefined) return false;
    const { state } = this.jobAt(record.latestRetry, now);
    return !isTerminal(state) || state === "SUCCEEDED";
  }

  hasOutput(datasetVersionId: string, now: number): boolean {
    const producer = [...this.#jobs.values()].find(
      ({ initial, plan }) => (plan?.outputDatasetVersionId ?? initial.outputDatasetVersionId) === datasetVersionId,
    );
    return producer !== undefined && this.jobAt(producer, now).outputDatasetVersionId === datasetVersionId;
  }
}

export interface OperationRecord extends Cancellation {
  readonly id: string;
  readonly jobId: string;
}

export function operationAt(
  { id, jobId, requestedAt, doneAt }: OperationRecord,
  workspaceId: string,
  now: number,
): Operation {
  const runsAt = Math.round((requestedAt + doneAt) / 2);
  const transitions = [
    { at: requestedAt, state: "QUEUED" },
    { at: runsAt, state: "RUNNING" },
    { at: doneAt, state: "SUCCEEDED" },
  ] as const satisfies readonly { at: number; state: Operation["state"] }[];
  const past = transitions.filter(({ at }) => at <= now);
  const latest = past.at(-1) ?? transitions[0];
  return {
    id,
    workspaceId,
    environment: "SANDBOX",
    state: latest.state,
    resourceVersion: Math.max(1, past.length),
    createdAt: toInstant(requestedAt),
    updatedAt: toInstant(latest.at),
    originatingResourceId: jobId,
    operationType: CANCELLATION_TYPE,
    requiredScopes: [cancelMicJob.scope],
    resultResourceId: latest.state === "SUCCEEDED" ? jobId : null,
    failure: null,
  };
}
