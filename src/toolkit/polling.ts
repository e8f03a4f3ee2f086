// This module reads resources until they stop changing or time is up. All tools that wait use it.

import { type CallContext, type Timing, timeLeftMs } from "../api-client/attempts.ts";
import type { CallRequest } from "../api-client/encode.ts";
import { Failure } from "../core/failure.ts";
import { AGENT, render, say, type Text } from "../core/text.ts";
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

interface WaitLimits<T> extends CallContext {
  readonly timing: Pick<Timing, "clockMs" | "sleep">;
  /** Seconds to wait; 0 reads once. */
  readonly seconds: number;
  /** Changes whenever the resource does. */
  version(value: T): string | number | bigint | undefined;
  /** Receives each value that was read, except the last one. */
  readonly onRead?: (value: T) => void;
  /** Minimum pause after this value (default 500 ms), for a read that takes many requests. */
  readonly minPauseMs?: (value: T) => number;
  /** Default: 5 s. */
  readonly maxPauseMs?: number;
}

/**
 * Reads until `isDone` or until `seconds` have passed, and returns the newest value. It reads often while the resource changes, and rarely
 * otherwise. If the call is aborted, or a later read fails and could be repeated, returns the value that was read before.
 */
export async function waitUntil<T>(
  read: () => Promise<T>,
  isDone: (value: T) => boolean,
  { timing, seconds, version, onRead, minPauseMs = () => 0, maxPauseMs = MAX_PAUSE_MS, ...context }: WaitLimits<T>,
): Promise<T> {
  const leftMs = timeLeftMs(context, timing);
  // A short wait is not spent on the margin.
  const marginMs = Math.min(FINAL_READ_MARGIN_MS, leftMs * FINAL_READ_SHARE);
  const untilAt = timing.clockMs() + Math.min(seconds * 1000, leftMs - marginMs);
  let value = await read();
  let pauseMs = 0;
  try {
    while (!isDone(value)) {
      const remainingMs = untilAt - timing.clockMs();
      if (remainingMs <= 0) break;
      onRead?.(value);
      pauseMs = Math.max(MIN_PAUSE_MS, minPauseMs(value), Math.min(maxPauseMs, pauseMs * GROWTH));
      await timing.sleep(Math.min(pauseMs, remainingMs), context.signal);
      const before = version(value);
      value = await read();
      if (version(value) !== before) pauseMs = 0;
    }
    return value;
  } catch (error) {
    if (context.signal.aborted || (error instanceof Failure && error.facts.retryable)) return value;
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
  waitSeconds <= 0
    ? ctx.api.call(endpoint, { path }, ctx)
    : waitUntil(
        () => ctx.api.call(endpoint, { path }, ctx),
        ({ value }) => !status(value.data).isInProgress,
        {
          ...{ signal: ctx.signal, deadlineAt: ctx.deadlineAt - reservedMs, timing: ctx.api.timing },
          seconds: waitSeconds,
          version: ({ value }) => status(value.data).version,
          onRead: ({ value }) => onRead(value.data),
        },
      );

function unchangedText(state: string, first: Status, last: Status, seconds: number): Text {
  const more = (last.units ?? 0) - (first.units ?? 0);
  const units = more > 0 ? say` (+${more} in ${seconds} s)` : say` after ${seconds} s`;
  return say`Still ${state}${last.detail && say`, ${last.detail}`}${units}.`;
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
    const message = render(say`${resource.state}${detail && say`, ${detail}`}`, AGENT);
    ctx.report(progress ?? { progress: readings, message });
  });
  const result = await resourceResult(answer, describe, { view });
  if (waitSeconds === 0 || view === "full" || result.isRoutine !== true) return result;
  const { data } = result;
  const { state } = data;
  if (first !== undefined && first.state !== state) return result;
  const seconds = Math.round((timing.clockMs() - startedAt) / 1000);
  const summary = unchangedText(state, status(first ?? data), status(data), seconds);
  return { ...result, summary, fields: { data: { state } }, lines: [] };
}
