// Waiting for a promise: no longer than its caller can wait, or with others for the same one.

/** The promise's outcome, or the signal's reason if it fires before. */
export function withAbortSignal<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
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
  timeoutError(): Error;
}

/** The promise's outcome, or the signal's reason if it fires before, or `tooLate` after so long. The promise itself goes on. */
export async function withTimeout<T>(promise: Promise<T>, { signal, timeoutMs, timeoutError }: WaitLimits): Promise<T> {
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(timeoutError()), Math.max(0, timeoutMs));
  try {
    return await withAbortSignal(promise, AbortSignal.any([signal, timeout.signal]));
  } finally {
    clearTimeout(timer);
  }
}

/** The promise's value if it is there within so long, else `otherwise`. The waiting keeps no process alive, and leaves no timer. */
export const withTimeoutFallback = <T>(promise: Promise<T>, fallback: T, timeoutMs: number): Promise<T> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, timeoutMs, fallback).unref();
    const finish = (value: T): void => {
      clearTimeout(timer);
      resolve(value);
    };
    promise.then(finish, () => finish(fallback));
  });

/** What `start` gives: started at the first need, for all who ask, and again after a failure alone. */
export function memoizeUntilFailure<T>(start: () => Promise<T>) {
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
