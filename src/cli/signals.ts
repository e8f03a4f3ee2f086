// The signals that end a server. From its first moment on somebody listens to them, and hands them over as it loads.

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** From now on `listener` hears them, and nobody else. */
export function onSignal(listener: () => void): void {
  for (const signal of SIGNALS) process.removeAllListeners(signal).on(signal, listener);
}
