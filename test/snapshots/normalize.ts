// Normalizes everything that differs between runs: random keys and cursors, ids of jobs that are submitted at the same time, ids of
// requests (a wait makes more of them on a faster machine), and this machine's time, port and folder.
import { createHash } from "node:crypto";

const HOUR_MS = 3_600_000;
/** Replacement for the current time. */
const NOW_MS = Date.parse("2026-03-02T10:00:00.000Z");
/** Upper limit for the duration of a scenario. */
const MAX_SCENARIO_MS = 5 * 60_000;

/** Replaces each distinct text with one of the same length, which depends only on the order of appearance. */
function createReplacer(form: string, encoding: "hex" | "base64url"): (text: string) => string {
  const replacements = new Map<string, string>();
  return (text) => {
    const replacement = createHash("sha512")
      .update(`${form} ${replacements.size}`)
      .digest(encoding)
      .slice(0, text.length);
    const result = replacements.get(text) ?? replacement;
    replacements.set(text, result);
    return result;
  };
}

/** Keeps the number of whole hours from now, because the time until which a key is kept is a promise. */
function normalizeInstant(text: string, startedAt: number): string {
  const sinceMs = Date.parse(text) - Math.floor(startedAt / 1000) * 1000;
  const hours = Math.floor(sinceMs / HOUR_MS);
  const isRecent = hours >= 0 && hours <= 24 && sinceMs - hours * HOUR_MS < MAX_SCENARIO_MS;
  if (!isRecent) return text;
  const normalized = new Date(NOW_MS + hours * HOUR_MS).toISOString();
  // A text without milliseconds stays without them.
  return text.includes(".") ? normalized : normalized.replace(".000", "");
}

export interface VariablePaths {
  readonly baseUrl: string;
  readonly downloads: string;
}

/** Returns the normalizer of one scenario, which starts now. */
export function normalizer({ baseUrl, downloads }: VariablePaths): (text: string) => string {
  const startedAt = Date.now();
  const keys = createReplacer("key", "hex");
  const derivedKeys = createReplacer("again", "hex");
  const cursors = createReplacer("cursor", "base64url");
  const jobs = createReplacer("job", "hex");
  const requests = createReplacer("request", "hex");
  return (text) =>
    text
      .replaceAll(downloads, "/home/user/Downloads")
      .replaceAll(baseUrl, "https://service.example")
      .replace(/(?<=mic-)[0-9a-f]{32}/g, keys)
      .replace(/(?<=micjob_)[0-9a-f]{32}/g, jobs)
      .replace(/(?<=micreq_)[0-9a-f]{32}/g, requests)
      .replace(/(?<=again-)[0-9a-f]{16}/g, derivedKeys)
      .replace(/(?<=ursor\\*":\\*")[\w-]{23,}/g, cursors)
      .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?Z/g, (instant) => normalizeInstant(instant, startedAt))
      .replace(/(?<=Call again after )(\d{4}-\d\d-\d\d )?\d\d:\d\d(?= UTC)/g, "23:55")
      // Merges two instants that have become equal.
      .replace(/(\d{4}-\d\d-\d\dT[\d:.]+Z) to \1/g, "$1")
      .replace(/(?<=(?:identical|similar) call ran )\d+ s ago/g, "2 s ago")
      // Seconds left of a minute that began with the scenario.
      .replace(
        /(?<="retryAfterSeconds":|[Aa]sk again in |Call again in |Wait |after |about )[3-6]\d(?=[,}]| s\b)/g,
        "60",
      );
}
