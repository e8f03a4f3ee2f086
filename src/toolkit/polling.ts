// Reads until a resource stops moving or time is up: the one way to wait for resources.

import { type CallContext, type Timing, timeLeftMs } from "../api-client/attempts.ts";
import type { CallRequest } from "../api-client/encode.ts";
import { Failure } from "../core/failure.ts";
import {
  type PollableResourcePresenter,
  type Position,
  type ReadAnswer,
  type ResourceEndpoint,
  resourceResult,
  type ToolResult,
  toolResult,
  type View,
} from "./results.ts";
import type { Ports, ToolCall } from "./tool-call.ts";

const FIRST_MS = 500;
const LAST_MS = 5_000;
const GROWTH = 1.5;
/** Time kept for a last read within the call's own limit. */
const MARGIN_MS = 2_000;

export interface Polled<T> {
  read(): Promise<T>;
  /** Changes whenever the resource does. */
  version(value: T): string | number | bigint;
  /** It changes without anyone acting. */
  isMoving(value: T): boolean;
  /** It continues when a user of the API has acted. */
  needsUserAction?(value: T): boolean;
  /** Receives each reading that is not the last. */
  onRead(value: T): void;
  /** The shortest time between two readings (default: 0.5 s): for a reading that is many requests. */
  readonly firstPauseMs?: number;
}

const waitingCancelled = new Failure({
  kind: "cancelled",
  message: "The waiting was cancelled by the client; what was waited for was left alone and goes on.",
  retryable: true,
  sideEffect: "none",
});

/**
 * Reads until the resource stops moving or `seconds` are up, and returns the newest state; often while it changes, seldom while
 * it does not. What starts to wait for a user of the API has stopped; what waited for one at the first reading is read until it changes.
 */
export async function poll<T>(
  polled: Polled<T>,
  seconds: number,
  limits: CallContext & { readonly timing: Timing },
): Promise<T> {
  const { timing, signal } = limits;
  const untilAt = timing.now() + Math.min(seconds * 1000, timeLeftMs(limits, timing) - MARGIN_MS);
  let value = await polled.read();
  if (seconds === 0) return value;
  const first = polled.version(value);
  const neededUserActionFirst = polled.needsUserAction?.(value) ?? false;
  const goesOn = (): boolean => (neededUserActionFirst ? polled.version(value) === first : polled.isMoving(value));
  const firstMs = Math.max(FIRST_MS, polled.firstPauseMs ?? 0);
  let pauseMs = firstMs;
  try {
    while (goesOn()) {
      const leftMs = untilAt - timing.now();
      if (leftMs <= 0) break;
      polled.onRead(value);
      await timing.sleep(Math.min(pauseMs, leftMs), signal);
      const before = polled.version(value);
      value = await polled.read();
      pauseMs = polled.version(value) === before ? Math.max(firstMs, Math.min(LAST_MS, pauseMs * GROWTH)) : firstMs;
    }
    return value;
  } catch (error) {
    throw signal.aborted ? waitingCancelled : error;
  }
}

interface Reading<T> {
  readonly endpoint: ResourceEndpoint<T>;
  readonly path: NonNullable<CallRequest["path"]>;
  readonly presenter: PollableResourcePresenter<T>;
  /** Default 0. */
  readonly waitSeconds?: number | undefined;
  /** Time of the call that is kept for what follows (default: 0). */
  readonly reservedMs?: number;
  readonly view?: View | undefined;
}

/** Reads one resource until it stops moving or time is up. `onRead` receives each reading that is not the last. */
export const pollResource = <T>(
  { endpoint, path, presenter, waitSeconds = 0, reservedMs = 0 }: Reading<T>,
  { context }: Pick<ToolCall, "context">,
  { service }: Pick<Ports, "service">,
  onRead: (resource: T) => void,
): Promise<ReadAnswer<T>> =>
  poll(
    {
      read: () => service.call(endpoint, { path }, context),
      version: ({ value }) => presenter.version(value.data),
      isMoving: ({ value }) => presenter.isMoving(value.data),
      needsUserAction: ({ value }) => presenter.needsUserAction?.(value.data) ?? false,
      onRead: ({ value }) => onRead(value.data),
    },
    waitSeconds,
    { ...context, deadlineAt: context.deadlineAt - reservedMs, timing: service.timing },
  );

function unchangedText(first: Position, last: Position, seconds: number): string {
  const more = (last.units ?? 0) - (first.units ?? 0);
  const units = more > 0 ? ` (+${more} in ${seconds} s)` : ` after ${seconds} s`;
  return `Still ${last.is}${last.at === undefined ? "" : `, ${last.at}`}${units}.`;
}

/** What a tool that reads one resource answers; after a wait no more than what is new. */
export async function readResource<T extends { readonly state: string }>(
  reading: Reading<T>,
  call: ToolCall,
  ports: Pick<Ports, "service">,
): Promise<ToolResult<T>> {
  const { presenter, waitSeconds = 0, view } = reading;
  const { timing } = ports.service;
  const startedAt = timing.now();
  let readings = 0;
  let first: T | undefined;
  const answer = await pollResource(reading, call, ports, (resource) => {
    first ??= resource;
    readings += 1;
    const { is, at } = presenter.position(resource);
    const message = at === undefined ? is : `${is}, ${at}`;
    call.report(presenter.progress?.(resource) ?? { progress: readings, message });
  });
  const result = await resourceResult(answer, presenter, call, { view });
  if (waitSeconds === 0 || view === "full" || result.isRoutine !== true) return result;
  const { data, text: _text, structured: _structured, ...facts } = result;
  const [before, after] = [presenter.position(first ?? data), presenter.position(data)];
  if (before.is !== after.is) return result;
  const summary = unchangedText(before, after, Math.round((timing.now() - startedAt) / 1000));
  return toolResult(call, data, { ...facts, summary, fields: { data: { state: data.state } } });
}
