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

export class IdempotencyStore {
  readonly #entries = new BoundedMap<string, StoredResponse>(MAX_ENTRIES.idempotencyKeys);
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves with undefined, and releases the key, if `pause` resolves with false. Throws ProblemError if another request has the key. */
  async run(
    { operationId, key, fingerprint }: Command,
    pause: () => Promise<boolean>,
    execute: () => HttpResponse,
  ): Promise<HttpResponse | undefined> {
    const name = `${operationId}\n${key}`;
    const now = this.#clock.now();
    this.#entries.deleteOldestWhile(
      (entry) => entry.response !== undefined && entry.claimedAt + KEY_LIFETIME_MS <= now,
    );
    const stored = this.#entries.get(name);
    if (stored !== undefined && stored.claimedAt + KEY_LIFETIME_MS > now) {
      const replay = this.#replay(stored, fingerprint);
      return (await pause()) ? replay : undefined;
    }
    const entry: StoredResponse = { fingerprint, claimedAt: now };
    this.#entries.delete(name);
    this.#entries.set(name, entry);
    try {
      if (await pause()) entry.response = execute();
      return entry.response;
    } finally {
      // Without an answer, nothing was changed.
      if (entry.response === undefined && this.#entries.get(name) === entry) this.#entries.delete(name);
    }
  }

  #replay(stored: StoredResponse, fingerprint: string): HttpResponse {
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
}
