// Hooks of a caller in a team: the keys that their actions have at the API, and the notice after a restore.
import { createHmac } from "node:crypto";
import { DEDUPLICATION_WINDOW_MS } from "../../actions/deduplication-window.ts";
import type { TimeRange } from "../variables.ts";

/**
 * The API sees the callers of a team as one client, so each key that a caller names becomes one that no other caller can name. `secret`: the
 * deployment's, 32 bytes. The result fits all three grammars of the contract, like a key of makeKey (docs/contract.md, 4.2).
 */
export const createUpstreamKeyMapper =
  (secret: Uint8Array, caller: string) =>
  (key: string): string =>
    `mic-${createHmac("sha256", secret)
      .update(JSON.stringify([caller, key]))
      .digest("hex")
      .slice(0, 32)}`;

const toIsoSeconds = (at: Date): string => at.toISOString().replace(/\.000Z$/, "Z");

/** The actions of this span are missing in the journal after a restore. The notice ends with the deduplication window of the last one. */
export const createRestoreNotice = (range: TimeRange | undefined, now: () => number) => (): string | undefined =>
  range && now() <= range.to.getTime() + DEDUPLICATION_WINDOW_MS
    ? `The journal was restored from a backup: what was done from ${toIsoSeconds(range.from)} to ${toIsoSeconds(range.to)} is not in it. ` +
      "Before you do again what may have been done then, look for it at the service (list_jobs)."
    : undefined;
