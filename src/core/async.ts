// Waiting for a promise: no longer than its caller can wait, or with others for the same one.

/** The promise's outcome, or the signal's reason if it fires before. */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) {
      // Nobody hears of it any more, and it may yet fail.
      promise.catch(() => undefined);
      return onAbort();
    }
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

interface WaitLimits {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** What is thrown when time is up. */
  tooLate(): Error;
}

/** The promise's outcome, or the signal's reason if it fires before, or `tooLate` after so long. The promise itself goes on. */
export async function within<T>(promise: Promise<T>, { signal, timeoutMs, tooLate }: WaitLimits): Promise<T> {
  const late = new AbortController();
  const alarm = setTimeout(() => late.abort(tooLate()), Math.max(0, timeoutMs));
  try {
    return await unlessAborted(promise, AbortSignal.any([signal, late.signal]));
  } finally {
    clearTimeout(alarm);
  }
}

/** The promise's value if it is there within so long, else `otherwise`. The waiting keeps no process alive, and leaves no timer. */
export const soonOr = <T>(promise: Promise<T>, otherwise: T, timeoutMs: number): Promise<T> =>
  new Promise((resolve) => {
    const alarm = setTimeout(resolve, timeoutMs, otherwise).unref();
    const end = (value: T): void => {
      clearTimeout(alarm);
      resolve(value);
    };
    promise.then(end, () => end(otherwise));
  });

/** What `start` gives: started at the first need, for all who ask, and again after a failure alone. */
export function onceUntilFailure<T>(start: () => Promise<T>) {
  let started: Promise<T> | undefined;
  return {
    get(): Promise<T> {
      started ??= start().catch((error: unknown) => {
        started = undefined;
        throw error;
      });
      return started;
    },
    /** Undefined where nobody has asked, or it failed. */
    ifStarted: (): Promise<T> | undefined => started,
  };
}
