// This module limits the wait for a promise, and shares one promise among several callers.

/** Returns the promise's outcome, or rejects with the signal's reason if the signal is aborted first. */
export function withAbortSignal<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) {
      // The promise may still reject, and no caller handles that.
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
  /** Returns the error that is thrown when the time is over. */
  timeoutError(): Error;
}

/** Like `withAbortSignal`, but rejects with `timeoutError()` after `timeoutMs`. The promise itself continues. */
export async function withTimeout<T>(promise: Promise<T>, { signal, timeoutMs, timeoutError }: WaitLimits): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limited = new Promise<T>((resolve, reject) => {
    timer = setTimeout(() => reject(timeoutError()), Math.max(0, timeoutMs));
    promise.then(resolve, reject);
  });
  try {
    return await withAbortSignal(limited, signal);
  } finally {
    clearTimeout(timer);
  }
}

/** Returns the promise's value if it resolves within `timeoutMs`, else `fallback`. The timer does not keep the process alive. */
export const withTimeoutFallback = <T>(promise: Promise<T>, fallback: T, timeoutMs: number): Promise<T> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, timeoutMs, fallback).unref();
    const finish = (value: T): void => {
      clearTimeout(timer);
      resolve(value);
    };
    promise.then(finish, () => finish(fallback));
  });

/** Calls `start` on first use, and shares its promise among all callers. Calls `start` again only after a failure. */
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
    /** Returns the promise; undefined if `get` was not called yet, or `start` failed. */
    ifStarted: (): Promise<T> | undefined => started,
  };
}
