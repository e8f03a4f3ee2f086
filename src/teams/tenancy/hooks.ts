// Creates hooks of a caller in a team: the mapping of their keys to upstream idempotency keys, and the notice after a restore.
import { createHmac } from "node:crypto";
import { DEDUPLICATION_WINDOW_MS } from "../../actions/deduplication-window.ts";
import type { TimeRange } from "../variables.ts";

/**
 * Derives the upstream idempotency key from a caller and their key. All callers of a team are one client to the API, so no caller may be
 * able to choose the key of another. `secret`: a secret of the deployment, 32 bytes. The result matches all three key grammars of the
 * contract, like a key of `generateKey` (docs/contract.md, 4.2).
 */
export const createUpstreamKeyMapper =
  (secret: Uint8Array, caller: string) =>
  (key: string): string =>
    `mic-${createHmac("sha256", secret)
      .update(JSON.stringify([caller, key]))
      .digest("hex")
      .slice(0, 32)}`;

const toIsoSeconds = (at: Date): string => at.toISOString().replace(/\.000Z$/, "Z");

/** Returns undefined when the deduplication window of the last action in this time range is over. */
export const createRestoreNotice =
  (readRange: () => TimeRange | undefined, now: () => number) => (): string | undefined => {
    const range = readRange();
    return range && now() <= range.to.getTime() + DEDUPLICATION_WINDOW_MS
      ? `The journal was restored from a backup or an older replica: it lacks the actions from ${toIsoSeconds(range.from)} to ${toIsoSeconds(range.to)}. ` +
          "Before you repeat an action that may have run in this period, check for its result with the MIC API (list_jobs)."
      : undefined;
  };
