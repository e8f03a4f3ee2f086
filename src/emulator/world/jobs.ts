// The workspace's jobs: kept in the order they were made, seen as they are at an instant.
import type { Job } from "../../contract/jobs.ts";
import { MAX_KEPT } from "../choices.ts";
import { type Cancellation, type Glimpse, isTerminal, jobAt, type Plan } from "./lifecycle.ts";
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
  glimpse?: Glimpse;
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
    if (record.glimpse === undefined || record.glimpse.until <= now)
      record.glimpse = jobAt(record.initial, record.plan, record.cancellation, now);
    return record.glimpse.job;
  }

  cancel(record: JobRecord, cancellation: Cancellation): void {
    record.cancellation = cancellation;
    delete record.glimpse;
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
