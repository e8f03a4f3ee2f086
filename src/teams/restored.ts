// What a restored backup has forgotten, as agents are told: the journal takes for never done what was done in that time.
import type { Span } from "./readers.ts";

const HOUR_MS = 3_600_000;

interface Restored {
  readonly span: Span;
  /** For so long after its end: later the service has forgotten the keys as well. */
  readonly hours: number;
  now(): number;
}

const bare = (at: Date): string => at.toISOString().replace(/\.000Z$/, "Z");

/** A sentence while it matters; undefined after that. */
export function forgottenSpan({ span: { from, to }, hours, now }: Restored): () => string | undefined {
  const sentence =
    `The journal was restored from a backup: what was done from ${bare(from)} to ${bare(to)} is not in it. ` +
    "Before you do again what may have been done then, look for it at the service (list_jobs).";
  return () => (now() <= to.getTime() + hours * HOUR_MS ? sentence : undefined);
}
