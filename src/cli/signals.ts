// Handles the signals that stop a server. The entry point handles them first; the server replaces that handler when it is loaded.

export const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Replaces all listeners of these signals. */
export function onSignal(listener: () => void): void {
  for (const signal of SIGNALS) {
    const before = process.listeners(signal);
    // Added before the other listeners are removed: without a listener, Node would drop a pending signal.
    process.on(signal, listener);
    for (const each of before) process.off(signal, each);
  }
}
