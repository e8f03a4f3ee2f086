// This module tracks which operations have only failed since their last response, so that callers wait longer and longer during an outage.
import type { FailureFacts } from "../core/failure.ts";
import type { Timing } from "./attempts.ts";

const FIRST_WAIT_MS = 60_000;
const MAX_WAIT_MS = 30 * 60_000;

interface Outage {
  readonly waitMs: number;
  /** The time after which a call makes sense, in milliseconds by `Timing.clockMs`. */
  readonly untilAt: number;
}

/** The first lost response may be an accident, so the call may be repeated immediately. */
const isLost = ({ kind, status, at }: FailureFacts): boolean =>
  kind === "timeout" || (status === undefined && at === undefined);

export function createOutages(timing: Timing) {
  const byOperation = new Map<string, Outage>();
  return {
    end: (operationId: string): void => void byOperation.delete(operationId),
    /** The wait doubles from 1 to 30 minutes whenever a call fails after the last wait. The API's Retry-After replaces it. */
    record(operationId: string, facts: FailureFacts): void {
      const { retryAfterSeconds } = facts;
      const nowMs = timing.clockMs();
      const before = byOperation.get(operationId);
      if (retryAfterSeconds !== undefined) {
        const { waitMs = FIRST_WAIT_MS } = before ?? {};
        byOperation.set(operationId, { waitMs, untilAt: nowMs + retryAfterSeconds * 1_000 });
      } else if (before === undefined || nowMs >= before.untilAt) {
        const firstMs = isLost(facts) ? 0 : FIRST_WAIT_MS;
        const waitMs = before ? Math.min(MAX_WAIT_MS, Math.max(FIRST_WAIT_MS, 2 * before.waitMs)) : firstMs;
        byOperation.set(operationId, { waitMs, untilAt: nowMs + waitMs });
      }
    },
    /** Returns the milliseconds to wait for this operation (default: for all operations); 0 if there is no outage. */
    leftMs(operationId?: string): number {
      const outages = operationId === undefined ? [...byOperation.values()] : [byOperation.get(operationId)];
      const nowMs = timing.clockMs();
      return Math.max(0, ...outages.map((outage) => (outage ? outage.untilAt - nowMs : 0)));
    },
  };
}
