// Holding an answer until a resource stops moving or time is up: the reading tools with waitSeconds.
import * as z from "zod/v4";
import { type CallContext, type Timing, timeLeftMs } from "../api-client/attempts.ts";
import { Failure } from "../failure.ts";

export const waitSeconds = z.int().min(0).max(45).describe("Default 0; cancelling ends the waiting only.").optional();

const FIRST_MS = 500;
const LAST_MS = 5_000;
const GROWTH = 1.5;
/** Time kept for a last read within the call's own limit. */
const MARGIN_MS = 2_000;

export interface Watched<T> {
  read(): Promise<T>;
  /** Changes whenever the resource does. */
  version(value: T): string | number | bigint;
  /** It goes on by itself. */
  isMoving(value: T): boolean;
  /** It goes on when a person has acted. */
  waitsForPerson?(value: T): boolean;
  /** Told each reading that is not the last. */
  onRead(value: T): void;
  /** At least so long between two readings, where one is many requests. */
  readonly firstPauseMs?: number;
}

interface Limits extends CallContext {
  readonly timing: Timing;
}

const waitingCancelled = new Failure({
  kind: "cancelled",
  message: "The waiting was cancelled by the client; what was waited for was left alone and goes on.",
  retryable: true,
  sideEffect: "none",
});

/**
 * Reads until the resource stops moving or `seconds` are up, and gives the newest state; often while it changes, seldom while
 * it does not. What comes to wait for a person has stopped; what waited for one at the first reading is read until it changes.
 */
export async function waitWhile<T>(watched: Watched<T>, seconds: number, limits: Limits): Promise<T> {
  if (seconds === 0) return await watched.read();
  const { timing, signal } = limits;
  const untilAt = timing.now() + Math.min(seconds * 1000, timeLeftMs(limits, timing) - MARGIN_MS);
  let value = await watched.read();
  const first = watched.version(value);
  const forPerson = watched.waitsForPerson?.(value) ?? false;
  const goesOn = (): boolean => (forPerson ? watched.version(value) === first : watched.isMoving(value));
  const firstMs = Math.max(FIRST_MS, watched.firstPauseMs ?? 0);
  let pauseMs = firstMs;
  try {
    while (goesOn()) {
      const leftMs = untilAt - timing.now();
      if (leftMs <= 0) break;
      watched.onRead(value);
      await timing.sleep(Math.min(pauseMs, leftMs), signal);
      const before = watched.version(value);
      value = await watched.read();
      pauseMs = watched.version(value) === before ? Math.max(firstMs, Math.min(LAST_MS, pauseMs * GROWTH)) : firstMs;
    }
    return value;
  } catch (error) {
    throw signal.aborted ? waitingCancelled : error;
  }
}
