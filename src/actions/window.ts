// The deduplication window.

/** The same call within this time after its success is the same action; an unknown outcome is resent for as long. */
export const DEDUPLICATION_WINDOW_MS = 20 * 3_600_000;
