// This module reads resources until they stop changing or time is up. All tools that wait use it.

import { type CallContext, type Timing, timeLeftMs } from "../api-client/attempts.ts";
import type { CallRequest } from "../api-client/encode.ts";
import { Failure } from "../core/failure.ts";
import { toText } from "../core/text.ts";
import {
  type Describe,
  type ReadAnswer,
  type ResourceEndpoint,
  resourceResult,
  type Status,
  type ToolResult,
  type View,
} from "./results.ts";
import type { ToolContext } from "./tool-context.ts";

const MIN_PAUSE_MS = 500;
const MAX_PAUSE_MS = 5_000;
const GROWTH = 1.5;
/** Time that is reserved for a last read before the call's deadline, and its maximum share of the time left. */
const FINAL_READ_MARGIN_MS = 1_000;
const FINAL_READ_SHARE = 0.25;

export interface PollTarget<T> {
  read(): Promise<T>;
  /** Changes whenever the resource does. */
  version(value: T): string | number | bigint;
  /** Returns true if the resource changes without user action. */
  isInProgress(value: T): boolean;
  /** Receives each value that was read, except the last one. */
  onRead(value: T): void;
  /** Minimum pause between two reads (default 500 ms), for a read that takes many requests. */
  readonly minPauseMs?: number;
}

/**
 * Reads until the resource stops changing or `seconds` have passed, and returns the newest state. It reads often while the resource changes,
 * and rarely otherwise. If the call is aborted, or a later read fails and could be repeated, returns the state that was read before.
 */
export async function poll<T>(
  target: PollTarget<T>,
  seconds: number,
  limits: CallContext & { readonly timing: Timing },
): Promise<T> {
  const { timing, signal } = limits;
  const leftMs = timeLeftMs(limits, timing);
  // A short wait is not spent on the margin.
  const marginMs = Math.min(FINAL_READ_MARGIN_MS, leftMs * FINAL_READ_SHARE);
  const untilAt = timing.clockMs() + Math.min(seconds * 1000, leftMs - marginMs);
  let value = await target.read();
  if (seconds === 0) return value;
  const minPauseMs = Math.max(MIN_PAUSE_MS, target.minPauseMs ?? 0);
  let pauseMs = minPauseMs;
  try {
    while (target.isInProgress(value)) {
      const remainingMs = untilAt - timing.clockMs();
      if (remainingMs <= 0) break;
      target.onRead(value);
      await timing.sleep(Math.min(pauseMs, remainingMs), signal);
      const before = target.version(value);
      value = await target.read();
      pauseMs =
        target.version(value) === before ? Math.max(minPauseMs, Math.min(MAX_PAUSE_MS, pauseMs * GROWTH)) : minPauseMs;
    }
    return value;
  } catch (error) {
    if (signal.aborted || (error instanceof Failure && error.facts.retryable)) return value;
    throw error;
  }
}

interface PollRequest<T> {
  readonly endpoint: ResourceEndpoint<T>;
  readonly path: NonNullable<CallRequest["path"]>;
  readonly status: (resource: T) => Status;
  /** Seconds to wait (default 0). */
  readonly waitSeconds?: number;
  /** Time of the call that is reserved for later steps (default 0). */
  readonly reservedMs?: number;
}

interface ReadRequest<T> extends PollRequest<T> {
  readonly describe: Describe<T>;
  readonly view?: View;
}

/** Reads one resource until it stops changing or time is up. `onRead` receives each state except the last one. Throws Failure. */
export const pollResource = <T>(
  { endpoint, path, status, waitSeconds = 0, reservedMs = 0 }: PollRequest<T>,
  ctx: ToolContext,
  onRead: (resource: T) => void,
): Promise<ReadAnswer<T>> =>
  poll(
    {
      read: () => ctx.api.call(endpoint, { path }, ctx),
      version: ({ value }) => status(value.data).version,
      isInProgress: ({ value }) => status(value.data).isInProgress,
      onRead: ({ value }) => onRead(value.data),
    },
    waitSeconds,
    { signal: ctx.signal, deadlineAt: ctx.deadlineAt - reservedMs, timing: ctx.api.timing },
  );

function unchangedText(state: string, first: Status, last: Status, seconds: number): string {
  const more = (last.units ?? 0) - (first.units ?? 0);
  const units = more > 0 ? ` (+${more} in ${seconds} s)` : ` after ${seconds} s`;
  return `Still ${state}${last.detail === undefined ? "" : `, ${last.detail}`}${units}.`;
}

/** Builds the result of a tool that reads one resource. After a wait in the same routine state, it contains only the progress. */
export async function readResource<T extends { readonly state: string }>(
  request: ReadRequest<T>,
  ctx: ToolContext,
): Promise<ToolResult<T>> {
  const { describe, status, waitSeconds = 0, view } = request;
  const { timing } = ctx.api;
  const startedAt = timing.clockMs();
  let readings = 0;
  let first: T | undefined;
  const answer = await pollResource(request, ctx, (resource) => {
    first ??= resource;
    readings += 1;
    const { detail, progress } = status(resource);
    const message = detail === undefined ? resource.state : `${resource.state}, ${detail}`;
    ctx.report(progress ?? { progress: readings, message });
  });
  const result = await resourceResult(answer, describe, { view });
  if (waitSeconds === 0 || view === "full" || result.isRoutine !== true) return result;
  const { data } = result;
  const { state } = data;
  if (first !== undefined && first.state !== state) return result;
  const seconds = Math.round((timing.clockMs() - startedAt) / 1000);
  const summary = toText(unchangedText(state, status(first ?? data), status(data), seconds));
  return { ...result, summary, fields: { data: { state } }, lines: [] };
}
