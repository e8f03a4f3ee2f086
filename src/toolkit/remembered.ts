// What this process has read before and uses again at no extra request: recipe offers, and which job retries which.

import type { Job } from "../contract/jobs.ts";
import type { RecipeOffer } from "../contract/recipes.ts";
import { BoundedMap } from "../core/bounded-map.ts";

const MAX_OFFERS = 500;
const MAX_RETRIES = 1_000;

export type Offers = ReturnType<typeof createOffers>;

export function createOffers() {
  const known = new BoundedMap<string, RecipeOffer>(MAX_OFFERS);
  return {
    remember(offers: readonly RecipeOffer[]): void {
      for (const offer of offers) {
        known.delete(offer.recipe.versionId);
        known.set(offer.recipe.versionId, offer);
      }
    },
    get: (versionId: string): RecipeOffer | undefined => known.get(versionId),
  };
}

export type Retries = ReturnType<typeof createRetries>;

export function createRetries() {
  const latest = new BoundedMap<string, Pick<Job, "id" | "createdAt">>(MAX_RETRIES);
  return {
    /** Of jobs that were listed or read: only the later job names the earlier one (`retryOfBatchId`). */
    remember(jobs: readonly Job[]): void {
      for (const { id, createdAt, retryOfBatchId: earlier } of jobs) {
        if (earlier === null) continue;
        const before = latest.get(earlier);
        const isOlder = before !== undefined && Date.parse(createdAt) < Date.parse(before.createdAt);
        latest.delete(earlier);
        latest.set(earlier, isOlder ? before : { id, createdAt });
      }
    },
    /** The id of the latest retry of a job, if one was read. */
    of: (jobId: string): string | undefined => latest.get(jobId)?.id,
  };
}
