// The workspace's jobs in the order of their creation, and the operations that cancel them, as they are at an instant.
import { cancelMicJob } from "../../contract/endpoints/job-processing.ts";
import type { Job } from "../../contract/jobs.ts";
import type { Operation } from "../../contract/operation.ts";
import { CANCELLATION_TYPE, MAX_KEPT } from "../assumptions.ts";
import { instant } from "../clock.ts";
import { type Cancellation, isTerminal, jobAt, type Plan } from "./lifecycle.ts";
import type { Recipe } from "./recipes.ts";

export interface JobRecord {
  /** Position in the list: higher is newer. */
  readonly sequence: number;
  readonly initial: Job;
  /** Absent on seeded jobs that do not move. */
  readonly plan: Plan | undefined;
  readonly recipe: Recipe;
  /** What the next attempt does, should this job be retried. */
  readonly outcomeOfRetry: Plan["outcome"];
  cancellation?: Cancellation;
  latestRetry?: JobRecord;
}

export class Jobs {
  readonly #byId = new Map<string, JobRecord>();
  /** Oldest first. */
  #list: JobRecord[] = [];
  #nextSequence = 0;

  add(facts: Omit<JobRecord, "sequence">): JobRecord {
    const record: JobRecord = { ...facts, sequence: this.#nextSequence };
    this.#nextSequence += 1;
    this.#list.push(record);
    this.#byId.set(record.initial.id, record);
    if (this.#list.length > MAX_KEPT.jobs * 1.1) this.#forgetOldest();
    return record;
  }

  find(id: string): JobRecord | undefined {
    return this.#byId.get(id);
  }

  /** Newest first, below this sequence number. */
  page(below: number, limit: number): readonly JobRecord[] {
    const oldest = this.#list[0]?.sequence ?? 0;
    const end = Math.max(0, Math.min(below - oldest, this.#list.length));
    return this.#list.slice(Math.max(0, end - limit), end).reverse();
  }

  at(record: JobRecord, now: number): Job {
    return jobAt(record.initial, record.plan, record.cancellation, now);
  }

  cancel(record: JobRecord, cancellation: Cancellation): void {
    record.cancellation = cancellation;
  }

  /** Whether a retry of this job is under way or has succeeded. */
  hasLivingRetry(record: JobRecord, now: number): boolean {
    if (record.latestRetry === undefined) return false;
    const { state } = this.at(record.latestRetry, now);
    return !isTerminal(state) || state === "SUCCEEDED";
  }

  /** Whether a job has put out this dataset version. */
  hasOutput(datasetVersionId: string, now: number): boolean {
    const made = this.#list.find(
      ({ initial, plan }) => (plan?.outputDatasetVersionId ?? initial.outputDatasetVersionId) === datasetVersionId,
    );
    return made !== undefined && this.at(made, now).outputDatasetVersionId === datasetVersionId;
  }

  #forgetOldest(): void {
    const kept = this.#list.slice(-MAX_KEPT.jobs);
    for (const { initial } of this.#list.slice(0, -MAX_KEPT.jobs)) this.#byId.delete(initial.id);
    this.#list = kept;
  }
}

/** The record of a cancellation. */
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
  const reached = [
    { at: requestedAt, state: "QUEUED" },
    { at: runsAt, state: "RUNNING" },
    { at: doneAt, state: "SUCCEEDED" },
  ] as const satisfies readonly { at: number; state: Operation["state"] }[];
  const past = reached.filter(({ at }) => at <= now);
  const latest = past.at(-1) ?? reached[0];
  return {
    id,
    workspaceId,
    environment: "SANDBOX",
    state: latest.state,
    resourceVersion: Math.max(1, past.length),
    createdAt: instant(requestedAt),
    updatedAt: instant(latest.at),
    originatingResourceId: jobId,
    operationType: CANCELLATION_TYPE,
    requiredScopes: [cancelMicJob.scope],
    resultResourceId: latest.state === "SUCCEEDED" ? jobId : null,
    failure: null,
  };
}
