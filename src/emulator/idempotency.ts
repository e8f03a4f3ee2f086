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

export interface Claim {
  /** Stores the answer of the executed command under the key. */
  complete(response: HttpResponse): void;
  /** Releases the key, because the command changed nothing. */
  release(): void;
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

  /** Returns the stored answer of the identical command, or a claim to execute it. Throws ProblemError if neither is possible. */
  claim({ operationId, key, fingerprint }: Command): HttpResponse | Claim {
    const name = `${operationId}\n${key}`;
    const now = this.#clock.now();
    this.#entries.deleteOldestWhile(
      (entry) => entry.response !== undefined && entry.claimedAt + KEY_LIFETIME_MS <= now,
    );
    const found = this.#entries.get(name);
    const stored = found !== undefined && found.claimedAt + KEY_LIFETIME_MS > now ? found : undefined;
    if (stored !== undefined) return this.#replay(stored, fingerprint);

    const entry: StoredResponse = { fingerprint, claimedAt: now };
    this.#entries.delete(name);
    this.#entries.set(name, entry);
    return {
      complete: (response) => {
        entry.response = response;
      },
      release: () => {
        if (this.#entries.get(name) === entry) this.#entries.delete(name);
      },
    };
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

export const isClaim = (result: HttpResponse | Claim): result is Claim => "complete" in result;
