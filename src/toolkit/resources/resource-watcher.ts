// Watches resources for subscribers, with one poller for each resource, which reads often while the resource changes.
import { setTimeout as sleep } from "node:timers/promises";
import type { CallContext, Timing } from "../../api-client/attempts.ts";
import { Failure } from "../../core/failure.ts";
import { say } from "../../core/text.ts";
import { waitUntil } from "../polling.ts";
import type { ObservedVersion } from "./resource.ts";

const MIN_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 30_000;
/** Relative jitter of pauses, so that pollers with the same start do not stay in step. */
const JITTER = 0.2;
/** Time limit of one read, including its retries. */
const READ_LIMIT_MS = 10_000;
export const MAX_WATCHED = 100;

export interface ResourceWatcherOptions {
  readonly timing: Pick<Timing, "clockMs" | "random">;
  /** Returns the milliseconds that the API asked to wait. No poller reads before they have passed. */
  readonly requestedMs: () => number;
  /** Waits without keeping the process alive. Rejects when the signal is aborted. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<unknown>;
  readonly maxWatched?: number;
}

export interface Watch {
  /** Resolves after the first read: false if the resource does not exist. After that, no change is missed. */
  readonly exists: Promise<boolean>;
  stop(): void;
}

interface Reading {
  readonly version: ObservedVersion["version"] | undefined;
  readonly state: "on" | "failing" | "ended" | "missing";
}

interface Poller {
  readonly listeners: Set<() => void>;
  readonly exists: Promise<boolean>;
  readonly stop: () => void;
}

const tooManyWatchedFailure = (max: number): Failure =>
  new Failure({
    kind: "rate_limited",
    message: say`${max} resources are being watched already, and no more can be.`,
    retryable: true,
    sideEffect: "none",
    next: say`Unsubscribe from some, or read with waitSeconds instead.`,
  });

export type ResourceWatcher = ReturnType<typeof createResourceWatcher>;

export function createResourceWatcher({
  timing,
  requestedMs,
  wait = (ms, signal) => sleep(ms, undefined, { signal, ref: false }),
  maxWatched = MAX_WATCHED,
}: ResourceWatcherOptions) {
  const pollers = new Map<string, Poller>();

  function start(name: string, readVersion: (context: CallContext) => Promise<ObservedVersion>): Poller {
    const abort = new AbortController();
    const { signal } = abort;
    const listeners = new Set<() => void>();
    let version: ObservedVersion["version"] | undefined;

    /** Reads once. The first read notifies no listener, since later reads are compared with it. */
    async function read(isFirst: boolean): Promise<Reading> {
      try {
        const seen = await readVersion({ signal, deadlineAt: timing.clockMs() + READ_LIMIT_MS });
        const hasChanged = seen.version !== version;
        version = seen.version;
        if (hasChanged && !isFirst) for (const notify of listeners) notify();
        return { version, state: seen.hasEnded ? "ended" : "on" };
      } catch (error) {
        const kind = error instanceof Failure ? error.facts.kind : undefined;
        return { version, state: kind === "not_found" || kind === "invalid_arguments" ? "missing" : "failing" };
      }
    }

    // If the first read fails, the first successful read counts as a change.
    const first = read(true);
    let next: Promise<Reading> | undefined = first;
    async function readNext(): Promise<Reading> {
      const reading = next ?? read(false);
      next = undefined;
      return await reading;
    }
    const poller: Poller = {
      listeners,
      exists: first.then(({ state }) => state !== "missing"),
      stop: () => abort.abort(),
    };
    waitUntil(readNext, ({ state }) => state === "ended" || state === "missing", {
      ...{ signal, deadlineAt: Number.POSITIVE_INFINITY, seconds: Number.POSITIVE_INFINITY },
      timing: {
        clockMs: timing.clockMs,
        async sleep(ms) {
          const jittered = ms * (1 + JITTER * (2 * timing.random() - 1));
          await wait(Math.max(jittered, requestedMs()), signal);
        },
      },
      version: (reading) => reading.version,
      minPauseMs: ({ state }) => (state === "failing" ? 2 * MIN_PAUSE_MS : MIN_PAUSE_MS),
      maxPauseMs: MAX_PAUSE_MS,
    }).finally(() => {
      if (pollers.get(name) === poller) pollers.delete(name);
    });
    return poller;
  }

  return {
    count: () => pollers.size,

    /** Calls `onChange` each time the resource with this name changes. Throws Failure (rate_limited) if too many are watched. */
    watch(name: string, readVersion: (context: CallContext) => Promise<ObservedVersion>, onChange: () => void): Watch {
      let poller = pollers.get(name);
      if (!poller) {
        if (pollers.size >= maxWatched) throw tooManyWatchedFailure(maxWatched);
        poller = start(name, readVersion);
        pollers.set(name, poller);
      }
      const mine = poller;
      // A new function, since a caller may pass the same one twice.
      const notify = () => onChange();
      mine.listeners.add(notify);
      return {
        exists: mine.exists,
        stop() {
          mine.listeners.delete(notify);
          if (mine.listeners.size > 0) return;
          if (pollers.get(name) === mine) pollers.delete(name);
          mine.stop();
        },
      };
    },
  };
}
