// A share of a transport's connections: one of several who use it never takes them all.
import { type ExchangeLimits, type Transport, TransportError, type WireRequest } from "./transport.ts";

interface Waiting {
  begin(): void;
}

/** At most `max` exchanges at once; the others wait, and their wait is part of their time. What is streamed is not counted. */
export function shareOf(transport: Transport, max: number): Pick<Transport, "exchange" | "open"> {
  const waiting = new Set<Waiting>();
  let running = 0;

  /** Resolves with what is left of the time. Rejects as an exchange that was not sent. */
  function turn({ timeoutMs, signal }: ExchangeLimits): Promise<number> {
    signal.throwIfAborted();
    if (running < max) {
      running += 1;
      return Promise.resolve(timeoutMs);
    }
    const since = performance.now();
    return new Promise((resolve, reject) => {
      const mine: Waiting = {
        begin() {
          end();
          resolve(Math.max(1, timeoutMs - (performance.now() - since)));
        },
      };
      function end(): void {
        clearTimeout(alarm);
        signal.removeEventListener("abort", onAbort);
        waiting.delete(mine);
      }
      function giveUp(error: Error): void {
        end();
        reject(error);
      }
      const onAbort = () => giveUp(new TransportError("it was given up", { sent: false }));
      const alarm = setTimeout(
        () => giveUp(new TransportError("all connections of this team were in use", { sent: false, timedOut: true })),
        timeoutMs,
      );
      signal.addEventListener("abort", onAbort, { once: true });
      waiting.add(mine);
    });
  }

  function next(): void {
    const [first] = waiting;
    // Its turn is handed on.
    if (first) first.begin();
    else running -= 1;
  }

  return {
    async exchange(request: WireRequest, limits: ExchangeLimits) {
      const timeoutMs = await turn(limits);
      try {
        return await transport.exchange(request, { ...limits, timeoutMs });
      } finally {
        next();
      }
    },
    open: transport.open,
  };
}
