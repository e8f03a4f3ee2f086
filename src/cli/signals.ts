// The signals that end a server. The entry point handles them first; the server replaces that handler when it is loaded.

export const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** From now on `listener` hears them, and nobody else. */
export function onSignal(listener: () => void): void {
  for (const signal of SIGNALS) {
    const before = process.listeners(signal);
    // First the new one: with its last listener node would drop a signal that has come while it was busy.
    process.on(signal, listener);
    for (const each of before) process.off(signal, each);
  }
}
