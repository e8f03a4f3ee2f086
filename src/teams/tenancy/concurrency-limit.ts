// This module limits how many connections of a shared transport one team can use, so that it never takes them all.
import pLimit from "p-limit";
import { type Transport, TransportError, type WireResponse } from "../../api-client/transport.ts";
import { pauseSlotFor } from "./team-shares.ts";

/** The wait counts toward an exchange's time limit. Streams are not limited. A waiting call does not count toward its team's share. */
export function withConcurrencyLimit(transport: Transport, max: number): Transport {
  const limit = pLimit(max);
  return {
    exchange: (request, limits) =>
      pauseSlotFor(async () => {
        const { timeoutMs, signal } = limits;
        signal.throwIfAborted();
        const since = performance.now();
        return await new Promise<WireResponse>((resolve, reject) => {
          let isWaiting = true;
          function giveUp(message: string, timedOut: boolean): void {
            if (isWaiting) reject(new TransportError(message, { sent: false, timedOut }));
            isWaiting = false;
          }
          const timer = setTimeout(() => giveUp("all connections of this team were in use", true), timeoutMs);
          signal.addEventListener("abort", () => giveUp("it was given up", false), { once: true });
          limit(async () => {
            clearTimeout(timer);
            if (!isWaiting) return;
            isWaiting = false;
            const leftMs = Math.max(1, timeoutMs - (performance.now() - since));
            resolve(await transport.exchange(request, { ...limits, timeoutMs: leftMs }));
          }).catch(reject);
        });
      }),
    openStream: transport.openStream,
    proxyFor: transport.proxyFor,
    close: async () => undefined,
  };
}
