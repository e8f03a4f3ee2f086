// What a restored backup has forgotten, as agents are told: the journal takes for never done what was done in that time.
import { DEDUPLICATION_WINDOW_MS } from "../actions/window.ts";
import type { Span } from "./readers.ts";

interface Restored {
  readonly span: Span;
  now(): number;
}

const bare = (at: Date): string => at.toISOString().replace(/\.000Z$/, "Z");

/** A sentence until the deduplication window of the last lost action ends; undefined after that. */
export function forgottenSpan({ span: { from, to }, now }: Restored): () => string | undefined {
  const sentence =
    `The journal was restored from a backup: what was done from ${bare(from)} to ${bare(to)} is not in it. ` +
    "Before you do again what may have been done then, look for it at the service (list_jobs).";
  return () => (now() <= to.getTime() + DEDUPLICATION_WINDOW_MS ? sentence : undefined);
}
