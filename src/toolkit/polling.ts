// This module reads resources until they stop moving or time is up. All tools that wait use it.

import { type CallContext, type Timing, timeLeftMs } from "../api-client/attempts.ts";
import type { CallRequest } from "../api-client/encode.ts";
import { Failure } from "../core/failure.ts";
import {
  type PollableResourcePresenter,
  type ProgressSnapshot,
  type ReadAnswer,
  type ResourceEndpoint,
  resourceResult,
  type ToolResult,
  toolResult,
  type View,
} from "./results.ts";
import type { ToolContext } from "./tool-context.ts";

const MIN_PAUSE_MS = 500;
const MAX_PAUSE_MS = 5_000;
const GROWTH = 1.5;
/** Time that is reserved for a last read before the call's deadline. */
const FINAL_READ_MARGIN_MS = 1_000;

export interface PollTarget<T> {
  read(): Promise<T>;
  /** Changes whenever the resource does. */
  version(value: T): string | number | bigint;
  /** Returns true if the resource changes without user action. */
  isMoving(value: T): boolean;
  /** Receives each value that was read, except the last one. */
  onRead(value: T): void;
  /** Minimum pause between two reads (default 500 ms), for a read that takes many requests. */
  readonly minPauseMs?: number;
}

const waitCanceledFailure = new Failure({
  kind: "cancelled",
  message: "The client cancelled the wait; the resource itself continues.",
  retryable: true,
  sideEffect: "none",
});

/**
 * Reads until the resource stops moving or `seconds` have passed, and returns the newest state. It reads often while the resource changes,
 * and rarely otherwise. If a later read fails and could be repeated, returns the state that was read before. Throws Failure (cancelled) if
 * the client cancels the call.
 */
export async function poll<T>(
  target: PollTarget<T>,
  seconds: number,
  limits: CallContext & { readonly timing: Timing },
): Promise<T> {
  const { timing, signal } = limits;
  const untilAt = timing.clockMs() + Math.min(seconds * 1000, timeLeftMs(limits, timing) - FINAL_READ_MARGIN_MS);
  let value = await target.read();
  if (seconds === 0) return value;
  const minPauseMs = Math.max(MIN_PAUSE_MS, target.minPauseMs ?? 0);
  let pauseMs = minPauseMs;
  try {
    while (target.isMoving(value)) {
      const leftMs = untilAt - timing.clockMs();
      if (leftMs <= 0) break;
      target.onRead(value);
      await timing.sleep(Math.min(pauseMs, leftMs), signal);
      const before = target.version(value);
      value = await target.read();
      pauseMs =
        target.version(value) === before ? Math.max(minPauseMs, Math.min(MAX_PAUSE_MS, pauseMs * GROWTH)) : minPauseMs;
    }
    return value;
  } catch (error) {
    if (signal.aborted) throw waitCanceledFailure;
    if (error instanceof Failure && error.facts.retryable) return value;
    throw error;
  }
}

interface ReadRequest<T> {
  readonly endpoint: ResourceEndpoint<T>;
  readonly path: NonNullable<CallRequest["path"]>;
  readonly presenter: PollableResourcePresenter<T>;
  /** Seconds to wait (default 0). */
  readonly waitSeconds?: number;
  /** Time of the call that is reserved for later steps (default 0). */
  readonly reservedMs?: number;
  readonly view?: View;
}

/** Reads one resource until it stops moving or time is up. `onRead` receives each state except the last one. Throws Failure. */
export const pollResource = <T>(
  { endpoint, path, presenter, waitSeconds = 0, reservedMs = 0 }: ReadRequest<T>,
  ctx: ToolContext,
  onRead: (resource: T) => void,
): Promise<ReadAnswer<T>> =>
  poll(
    {
      read: () => ctx.api.call(endpoint, { path }, ctx),
      version: ({ value }) => presenter.version(value.data),
      isMoving: ({ value }) => presenter.isMoving(value.data),
      onRead: ({ value }) => onRead(value.data),
    },
    waitSeconds,
    { ...ctx, deadlineAt: ctx.deadlineAt - reservedMs, timing: ctx.api.timing },
  );

function unchangedText(first: ProgressSnapshot, last: ProgressSnapshot, seconds: number): string {
  const more = (last.units ?? 0) - (first.units ?? 0);
  const units = more > 0 ? ` (+${more} in ${seconds} s)` : ` after ${seconds} s`;
  return `Still ${last.state}${last.detail === undefined ? "" : `, ${last.detail}`}${units}.`;
}

/** Builds the result of a tool that reads one resource. After a wait in the same routine state, it contains only the progress. */
export async function readResource<T extends { readonly state: string }>(
  request: ReadRequest<T>,
  ctx: ToolContext,
): Promise<ToolResult<T>> {
  const { presenter, waitSeconds = 0, view } = request;
  const { timing } = ctx.api;
  const startedAt = timing.clockMs();
  let readings = 0;
  let first: T | undefined;
  const answer = await pollResource(request, ctx, (resource) => {
    first ??= resource;
    readings += 1;
    const { state, detail } = presenter.progressSnapshot(resource);
    const message = detail === undefined ? state : `${state}, ${detail}`;
    ctx.report(presenter.progress?.(resource) ?? { progress: readings, message });
  });
  const result = await resourceResult(answer, presenter, ctx, { view });
  if (waitSeconds === 0 || view === "full" || result.isRoutine !== true) return result;
  const { data, text: _text, structured: _structured, ...facts } = result;
  const [before, after] = [presenter.progressSnapshot(first ?? data), presenter.progressSnapshot(data)];
  if (before.state !== after.state) return result;
  const summary = unchangedText(before, after, Math.round((timing.clockMs() - startedAt) / 1000));
  return toolResult(ctx, data, { ...facts, summary, fields: { data: { state: data.state } } });
}
