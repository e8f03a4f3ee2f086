// Idempotent execution: one command per key, its answer kept byte for byte (Idempotency-Key draft).
import { BoundedMap } from "../core/bounded-map.ts";
import { KEY_LIFETIME_MS, MAX_KEPT, REPLAYED_HEADER } from "./assumptions.ts";
import type { Clock } from "./clock.ts";
import { type Answer, withHeaders } from "./http/answer.ts";
import { refuseField } from "./problems.ts";

const POINTER = "/header/Idempotency-Key";

interface KeptAnswer {
  readonly fingerprint: string;
  readonly claimedAt: number;
  /** Absent while the command runs. */
  answer?: Answer;
}

export interface Claim {
  /** The command was executed: its answer is the key's from now on. */
  complete(answer: Answer): void;
  /** Nothing was done: the key is free again. */
  release(): void;
}

export interface Command {
  readonly operationId: string;
  readonly key: string;
  /** Hash of all that makes this request what it is. */
  readonly fingerprint: string;
}

export class Idempotency {
  readonly #entries = new BoundedMap<string, KeptAnswer>(MAX_KEPT.idempotencyKeys);
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The stored answer of this very command, or the right to execute it. Throws a Refusal when neither may be had. */
  claim({ operationId, key, fingerprint }: Command): Answer | Claim {
    const name = `${operationId}\n${key}`;
    const now = this.#clock.now();
    this.#entries.deleteOldestWhile((entry) => entry.answer !== undefined && entry.claimedAt + KEY_LIFETIME_MS <= now);
    const found = this.#entries.get(name);
    const known = found !== undefined && found.claimedAt + KEY_LIFETIME_MS > now ? found : undefined;
    if (known !== undefined) return this.#replay(known, fingerprint);

    const entry: KeptAnswer = { fingerprint, claimedAt: now };
    this.#entries.delete(name);
    this.#entries.set(name, entry);
    return {
      complete: (answer) => {
        entry.answer = answer;
      },
      release: () => {
        if (this.#entries.get(name) === entry) this.#entries.delete(name);
      },
    };
  }

  #replay(known: KeptAnswer, fingerprint: string): Answer {
    if (known.fingerprint !== fingerprint)
      throw refuseField(
        "IDEMPOTENCY_KEY_REUSED",
        POINTER,
        "This key belongs to another request: send exactly that one again, or use a new key.",
      );
    if (known.answer === undefined)
      throw refuseField(
        "IDEMPOTENCY_IN_PROGRESS",
        POINTER,
        "The first request with this key is still running: repeat this one a little later.",
        { "Retry-After": "1" },
      );
    return withHeaders(known.answer, { [REPLAYED_HEADER]: "true" });
  }
}

export const isClaim = (result: Answer | Claim): result is Claim => "complete" in result;
