// Keeps the process alive while a command runs. Some waits have timers that do not (geography/geography.ts, the journal's), so that a
// server can end at once: in a command nothing else may be left, and node would exit with 0 in the middle of the wait.

/** The longest interval that a timer takes, about 25 days. */
const INTERVAL_MS = 2 ** 31 - 1;

export async function keptAlive<T>(work: Promise<T>): Promise<T> {
  const timer = setInterval(() => undefined, INTERVAL_MS);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}
