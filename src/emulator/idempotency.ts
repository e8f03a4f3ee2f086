// Executes one command per key and stores its answer byte for byte (Idempotency-Key draft).
import { BoundedMap } from "../core/bounded-map.ts";
import { KEY_LIFETIME_MS, MAX_ENTRIES, REPLAYED_HEADER } from "./assumptions.ts";
import type { Clock } from "./clock.ts";
import { type HttpResponse, withHeaders } from "./http/response.ts";
import { createFieldProblem } from "./problems.ts";

const POINTER = "/header/Idempotency-Key";

interface StoredResponse {
  readonly fingerprint: string;
  readonly claimedAt: number;
  /** Absent while the command runs. */
  response?: HttpResponse;
}

export interface Command {
  readonly operationId: string;
  readonly key: string;
  /** Hash of the request: method, path, If-Match and body. */
  readonly fingerprint: string;
}

function replay(stored: StoredResponse, fingerprint: string): HttpResponse {
  if (stored.fingerprint !== fingerprint)
    throw createFieldProblem(
      "IDEMPOTENCY_KEY_REUSED",
      POINTER,
      "This key belongs to another request: send exactly that one again, or use a new key.",
    );
  if (stored.response === undefined)
    throw createFieldProblem(
      "IDEMPOTENCY_IN_PROGRESS",
      POINTER,
      "The first request with this key is still running: repeat this one a little later.",
      { "Retry-After": "1" },
    );
  return withHeaders(stored.response, { [REPLAYED_HEADER]: "true" });
}

export type RunOnce = ReturnType<typeof createRunOnce>;

export function createRunOnce(clock: Clock) {
  const entries = new BoundedMap<string, StoredResponse>(MAX_ENTRIES.idempotencyKeys);
  /** Resolves with undefined, and releases the key, if `pause` resolves with false. Throws ProblemError if another request has the key. */
  return async (
    { operationId, key, fingerprint }: Command,
    pause: () => Promise<boolean>,
    execute: () => HttpResponse,
  ): Promise<HttpResponse | undefined> => {
    const name = `${operationId}\n${key}`;
    const now = clock.now();
    entries.deleteOldestWhile((entry) => entry.response !== undefined && entry.claimedAt + KEY_LIFETIME_MS <= now);
    const stored = entries.get(name);
    if (stored !== undefined && stored.claimedAt + KEY_LIFETIME_MS > now) {
      const response = replay(stored, fingerprint);
      return (await pause()) ? response : undefined;
    }
    const entry: StoredResponse = { fingerprint, claimedAt: now };
    entries.delete(name);
    entries.set(name, entry);
    try {
      if (await pause()) entry.response = execute();
      return entry.response;
    } finally {
      // Without an answer, nothing was changed.
      if (entry.response === undefined && entries.get(name) === entry) entries.delete(name);
    }
  };
}
