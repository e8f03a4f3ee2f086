// This module limits how many connections of a shared transport one team can use, so that it never takes them all.
import { type SendLimits, type Transport, TransportError } from "../../api-client/transport.ts";
import { withTimeout } from "../../core/async.ts";
import { pauseSlotFor } from "./team-shares.ts";

const notSent = (message: string, timedOut: boolean): TransportError =>
  new TransportError(message, { sent: false, timedOut });

/** The wait counts toward an exchange's time limit. Streams are not limited. A waiting call does not count toward its team's share. */
export function withConcurrencyLimit(transport: Transport, max: number): Transport {
  let free = max;
  const waiting = new Set<() => void>();

  function release(): void {
    const [grant] = waiting;
    if (!grant) free += 1;
    else {
      waiting.delete(grant);
      grant();
    }
  }

  /** Resolves with the time left when a connection is granted. */
  async function waitForConnection({ timeoutMs, signal }: SendLimits): Promise<number> {
    const since = performance.now();
    let grant = (): void => undefined;
    const granted = new Promise<void>((resolve) => {
      grant = resolve;
    });
    waiting.add(grant);
    const timeoutError = () => notSent("all connections of this team were in use", true);
    try {
      await withTimeout(granted, { signal, timeoutMs, timeoutError });
    } catch (error) {
      // It may have been granted in the meantime.
      if (!waiting.delete(grant)) release();
      throw signal.aborted ? notSent("it was given up", false) : error;
    }
    return Math.max(1, timeoutMs - (performance.now() - since));
  }

  return {
    exchange: (request, limits) =>
      pauseSlotFor(async () => {
        limits.signal.throwIfAborted();
        let { timeoutMs } = limits;
        if (free > 0) free -= 1;
        else timeoutMs = await waitForConnection(limits);
        try {
          return await transport.exchange(request, { ...limits, timeoutMs });
        } finally {
          release();
        }
      }),
    openStream: transport.openStream,
    proxyFor: transport.proxyFor,
    close: async () => undefined,
  };
}
