// What no run has twice, made the same in every run: keys and cursors made at random, this machine's time, port and folder.
import { createHash } from "node:crypto";

const HOUR_MS = 3_600_000;
/** What "now" becomes. */
const NOW_MS = Date.parse("2026-03-02T10:00:00.000Z");
/** A scene is over sooner. */
const MAX_SCENARIO_MS = 5 * 60_000;

/** Each different text becomes one of the same length, made from its number in the order of appearance. */
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

/** Whole hours from now stay what they are: until when a key is kept is a promise. */
function normalizeInstant(text: string, startedAt: number): string {
  const sinceMs = Date.parse(text) - Math.floor(startedAt / 1000) * 1000;
  const hours = Math.floor(sinceMs / HOUR_MS);
  const isRecent = hours >= 0 && hours <= 24 && sinceMs - hours * HOUR_MS < MAX_SCENARIO_MS;
  if (!isRecent) return text;
  const normalized = new Date(NOW_MS + hours * HOUR_MS).toISOString();
  // To the second where the text is.
  return text.includes(".") ? normalized : normalized.replace(".000", "");
}

export interface VariablePaths {
  readonly baseUrl: string;
  readonly downloads: string;
}

/** Of one scene, which begins now. */
export function normalizer({ baseUrl, downloads }: VariablePaths): (text: string) => string {
  const startedAt = Date.now();
  const keys = createReplacer("key", "hex");
  const derivedKeys = createReplacer("again", "hex");
  const cursors = createReplacer("cursor", "base64url");
  return (text) =>
    text
      .replaceAll(downloads, "/home/user/Downloads")
      .replaceAll(baseUrl, "https://service.example")
      .replace(/(?<=mic-)[0-9a-f]{32}/g, keys)
      .replace(/(?<=again-)[0-9a-f]{16}/g, derivedKeys)
      .replace(/(?<=ursor\\*":\\*")[\w-]{32,}/g, cursors)
      .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?Z/g, (instant) => normalizeInstant(instant, startedAt))
      // Two instants that have become one.
      .replace(/(\d{4}-\d\d-\d\dT[\d:.]+Z) to \1/g, "$1")
      .replace(/(?<=identical call ran )\d+ s ago/g, "2 s ago")
      // What is left of a minute that began when the scene did.
      .replace(/(?<="retryAfterSeconds":|[Aa]sk again in |Call again in |Wait |after )[3-6]\d(?=[,}]| s\b)/g, "60");
}
