// Which answers have reached the client: an action counts as told only then (design: a lost answer is told again).

type RequestId = string | number;

export interface Deliveries {
  /** Each of `tells` is to run once the answer to this request is out; never, if it never is. */
  expect(id: RequestId, tells: readonly (() => Promise<void>)[], signal: AbortSignal): void;
  /** The answer to this request is on its way out. Gives what to call when it is out; it need not be called. */
  answered(id: RequestId): () => void;
  /** Resolves when everything told so far is written down. */
  settled(): Promise<void>;
  /** An id comes once in a connection: with the same call again it is the same request, sent again. Gives the key it had. */
  keyOf(id: RequestId, call: string): string | undefined;
  /** The action of this request has this key. */
  keep(id: RequestId, call: string, key: string): void;
}

/** Requests whose keys are remembered, in case they are sent again. */
const MAX_KEPT = 1_000;

export function createDeliveries(): Deliveries {
  const keys = new Map<RequestId, { readonly call: string; readonly key: string }>();
  const expected = new Map<RequestId, readonly (() => Promise<void>)[]>();
  let telling: Promise<unknown> = Promise.resolve();
  return {
    expect(id, tells, signal) {
      // A cancelled request is not answered any more. One that is cancelled later is: between this and the sending there is
      // no turn of the event loop.
      if (tells.length > 0 && !signal.aborted) expected.set(id, tells);
    },
    answered(id) {
      const tells = expected.get(id);
      if (!tells) return () => undefined;
      expected.delete(id);
      return () => {
        // What it resolves with must not hold the one before it, and so all of them.
        telling = Promise.all([telling, ...tells.map((tell) => tell())]).then(() => undefined);
      };
    },
    settled: async () => {
      await telling;
    },
    keyOf(id, call) {
      const kept = keys.get(id);
      return kept?.call === call ? kept.key : undefined;
    },
    keep(id, call, key) {
      keys.set(id, { call, key });
      for (const oldest of keys.keys()) if (keys.size > MAX_KEPT) keys.delete(oldest);
    },
  };
}
