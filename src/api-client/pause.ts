// This module has the one pause of an upstream: the waits that the API asks for (Retry-After), those after repeated failures of an operation
// (an outage), and the cooldown that the processes of a deployment share. Requests await a pause, and the advice of failures states it.
import { Failure, type FailureFacts } from "../core/failure.ts";
import { say, type Text } from "../core/text.ts";
import { type CallContext, MIN_ATTEMPT_MS, type Timing, timeLeftMs } from "./attempts.ts";
import { parseRetryAfter } from "./classify.ts";
import { waitAdvice } from "./refusal-advice.ts";
import type { WireResponse } from "./transport.ts";

/** A cooldown that several processes with the same credentials share. Its methods never reject. */
export interface Cooldown {
  /** Returns the milliseconds until a request may be sent; 0 or less means now. A promise only if the value must be read again. */
  leftMs(): number | Promise<number>;
  /** Records a pause, in milliseconds, that the API asked for. Resolves when the other processes can read it. */
  record(ms: number): Promise<void>;
}

/** Maximum cooldown. One wrong header must not block many processes for days. */
const MAX_COOLDOWN_MS = 3_600_000;
/** Requests that wait for the same time are spread over this period after it. */
const SPREAD_MS = 250;
const TOO_MANY_REQUESTS = 429;

const FIRST_OUTAGE_MS = 60_000;
const MAX_OUTAGE_MS = 30 * 60_000;

/** The operation has only failed since its last response. */
interface Outage {
  readonly waitMs: number;
  /** The time after which a call makes sense, in milliseconds by `Timing.clockMs`. */
  readonly untilAt: number;
}

/** The first lost response may be an accident, so the call may be repeated immediately. */
const isLost = ({ kind, status, at }: FailureFacts): boolean =>
  kind === "timeout" || (status === undefined && at === undefined);

interface Turn {
  /** Returns the milliseconds until the request may be sent; 0 or less means now. */
  readonly leftMs: () => number | Promise<number>;
  /** Returns the longest wait that the call has time for, in milliseconds. */
  readonly maxMs: () => number;
  /** Returns why the request must wait: "Not sent: …". */
  readonly reason: () => Text;
  readonly sleep: (ms: number) => Promise<void>;
}

/** Waits until a request may be sent. Throws Failure, with nothing sent, if the call has too little time left. */
export async function waitToSend({ leftMs, maxMs, reason, sleep }: Turn): Promise<void> {
  for (let ms = await leftMs(); ms > 0; ms = await leftMs()) {
    if (ms > maxMs()) {
      const retryAfterSeconds = Math.ceil(ms / 1_000);
      throw new Failure({
        ...{ kind: "rate_limited", message: reason(), retryable: true, sideEffect: "none", retryAfterSeconds },
        next: waitAdvice(retryAfterSeconds),
      });
    }
    await sleep(ms);
  }
}

export function createPause(timing: Timing, cooldown?: Cooldown) {
  const outages = new Map<string, Outage>();
  /** When the wait that the API asked for ends, by operation, in milliseconds by `Timing.clockMs`. */
  const requested = new Map<string, number>();

  /** Returns the milliseconds that the API asked to wait before this operation (default: any operation). */
  function requestedMs(operationId?: string): number {
    const ends = operationId === undefined ? requested.values() : [requested.get(operationId) ?? 0];
    return Math.max(0, ...[...ends].map((untilAt) => untilAt - timing.clockMs()));
  }

  /** Returns how long a request of this call must wait. A wait that does not fit into the call is not awaited: the API decides. */
  function waitMs(context: CallContext, operationId?: string): number {
    const ms = requestedMs(operationId);
    return ms + MIN_ATTEMPT_MS > timeLeftMs(context, timing) ? 0 : ms;
  }

  const awaitEnd = (operationId: string, context: CallContext): Promise<void> =>
    waitToSend({
      leftMs: async () => Math.max((await cooldown?.leftMs()) ?? 0, waitMs(context, operationId)),
      maxMs: () => timeLeftMs(context, timing) - MIN_ATTEMPT_MS,
      reason: () => say`Not sent: the API asked all callers of this team to wait (HTTP 429).`,
      sleep: (ms) => timing.sleep(ms + (cooldown ? timing.random() * SPREAD_MS : 0), context.signal),
    });

  return {
    requestedMs,
    waitMs,
    /** Waits until a request may be sent; returns undefined if that is now. Rejects with Failure if the shared cooldown is too long. */
    beforeRequest(operationId: string, context: CallContext): Promise<void> | undefined {
      if (cooldown === undefined && requested.size === 0) return undefined;
      const sharedMs = cooldown?.leftMs() ?? 0;
      if (typeof sharedMs === "number" && sharedMs <= 0 && waitMs(context, operationId) === 0) return undefined;
      return awaitEnd(operationId, context);
    },
    /** Shares the cooldown that a response asks for. Returns undefined if it asks for none. */
    share({ status, headers }: Pick<WireResponse, "status" | "headers">): Promise<void> | undefined {
      if (cooldown === undefined || status !== TOO_MANY_REQUESTS) return undefined;
      const seconds = parseRetryAfter(headers, timing.now());
      return seconds === undefined ? undefined : cooldown.record(Math.min(seconds * 1_000, MAX_COOLDOWN_MS));
    },
    /** Records the wait that a failed attempt asks for. A shorter one does not shorten a longer one. */
    request(operationId: string, { retryAfterSeconds }: FailureFacts): void {
      if (retryAfterSeconds === undefined) return;
      const untilAt = timing.clockMs() + retryAfterSeconds * 1_000;
      requested.set(operationId, Math.max(requested.get(operationId) ?? 0, untilAt));
    },
    /** Records a call that failed. The wait doubles from 1 to 30 minutes whenever one fails after the last wait. A Retry-After replaces it. */
    fail(operationId: string, facts: FailureFacts): void {
      const { retryAfterSeconds } = facts;
      const nowMs = timing.clockMs();
      const before = outages.get(operationId);
      if (retryAfterSeconds !== undefined) {
        const { waitMs = FIRST_OUTAGE_MS } = before ?? {};
        outages.set(operationId, { waitMs, untilAt: nowMs + retryAfterSeconds * 1_000 });
      } else if (before === undefined || nowMs >= before.untilAt) {
        const firstMs = isLost(facts) ? 0 : FIRST_OUTAGE_MS;
        const waitMs = before ? Math.min(MAX_OUTAGE_MS, Math.max(FIRST_OUTAGE_MS, 2 * before.waitMs)) : firstMs;
        outages.set(operationId, { waitMs, untilAt: nowMs + waitMs });
      }
    },
    /** Records a response of the operation: it is in no outage. */
    end: (operationId: string): void => void outages.delete(operationId),
    /** Returns the milliseconds after which a call of this operation (default: of any) makes sense; 0 if there is no outage. */
    leftMs(operationId?: string): number {
      const ends = operationId === undefined ? [...outages.values()] : [outages.get(operationId)];
      return Math.max(0, ...ends.map((outage) => (outage ? outage.untilAt - timing.clockMs() : 0)));
    },
  };
}
