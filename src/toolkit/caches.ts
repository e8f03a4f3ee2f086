// This module caches data that this process has read, to save requests: recipe offers, and which job retries which.

import type { Job } from "../contract/jobs.ts";
import type { RecipeOffer } from "../contract/recipes.ts";
import { BoundedMap } from "../core/bounded-map.ts";

const MAX_OFFERS = 500;
const MAX_RETRIES = 1_000;
const MAX_CURSORS = 1_000;

export type RecipeOfferCache = ReturnType<typeof createRecipeOfferCache>;

export function createRecipeOfferCache() {
  const cache = new BoundedMap<string, RecipeOffer>(MAX_OFFERS);
  return {
    remember(offers: readonly RecipeOffer[]): void {
      for (const offer of offers) {
        cache.delete(offer.recipe.versionId);
        cache.set(offer.recipe.versionId, offer);
      }
    },
    get: (versionId: string): RecipeOffer | undefined => cache.get(versionId),
  };
}

export type RetryCache = ReturnType<typeof createRetryCache>;

export function createRetryCache() {
  const latest = new BoundedMap<string, Pick<Job, "id" | "createdAt">>(MAX_RETRIES);
  /** The cursors of lists of which all earlier pages were read, each with its workspace. */
  const reached = new BoundedMap<string, true>(MAX_CURSORS);
  return {
    /** Records the retries among jobs that were listed or read. Only the later job refers to the earlier one (`retryOfBatchId`). */
    remember(jobs: readonly Job[]): void {
      for (const { id, createdAt, retryOfBatchId: earlier } of jobs) {
        if (earlier === null) continue;
        const before = latest.get(earlier);
        const isOlder = before !== undefined && Date.parse(createdAt) < Date.parse(before.createdAt);
        latest.delete(earlier);
        latest.set(earlier, isOlder ? before : { id, createdAt });
      }
    },
    get: (jobId: string): string | undefined => latest.get(jobId)?.id,
    /** Records that all jobs before this cursor were read. */
    reach(workspaceId: string, cursor: string | null): void {
      if (cursor !== null) reached.set(JSON.stringify([workspaceId, cursor]), true);
    },
    /** Returns true if all jobs before this cursor were read. */
    hasReached: (workspaceId: string, cursor: string | undefined): boolean =>
      cursor === undefined || reached.get(JSON.stringify([workspaceId, cursor])) === true,
  };
}
