// Watches resources for subscribers, with one poller for each resource, which reads often while the resource changes.
import { setTimeout as sleep } from "node:timers/promises";
import type { CallContext, Timing } from "../../api-client/attempts.ts";
import { Failure } from "../../core/failure.ts";
import type { ObservedVersion } from "./resource.ts";

const MIN_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 30_000;
const GROWTH = 1.5;
/** Relative jitter of pauses, so that pollers with the same start do not stay in step. */
const JITTER = 0.2;
/** Time limit of one read, including its retries. */
const READ_LIMIT_MS = 10_000;
export const MAX_WATCHED = 100;

export interface ResourceWatcherOptions {
  readonly timing: Pick<Timing, "clockMs" | "random">;
  /** Waits without keeping the process alive. Rejects when the signal is aborted. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<unknown>;
  readonly maxWatched?: number;
}

export interface Watch {
  /** Resolves after the first read: false if the resource does not exist. After that, no change is missed. */
  readonly exists: Promise<boolean>;
  stop(): void;
}

interface Poller {
  readonly listeners: Set<() => void>;
  readonly exists: Promise<boolean>;
  readonly stop: () => void;
}

const tooManyWatchedFailure = (max: number): Failure =>
  new Failure({
    kind: "rate_limited",
    message: `${max} resources are being watched already, and no more can be.`,
    retryable: true,
    sideEffect: "none",
    next: "Unsubscribe from some, or read with waitSeconds instead.",
  });

export type ResourceWatcher = ReturnType<typeof createResourceWatcher>;

export function createResourceWatcher({
  timing,
  wait = (ms, signal) => sleep(ms, undefined, { signal, ref: false }),
  maxWatched = MAX_WATCHED,
}: ResourceWatcherOptions) {
  const pollers = new Map<string, Poller>();
  /** End of the cooldown that the API requested. No poller reads before it. */
  let cooldownUntilAt = 0;

  function start(name: string, readVersion: (context: CallContext) => Promise<ObservedVersion>): Poller {
    const abort = new AbortController();
    const { signal } = abort;
    const listeners = new Set<() => void>();
    let version: ObservedVersion["version"] | undefined;
    let pauseMs = MIN_PAUSE_MS;

    /** Reads once, and returns whether to read again. The first read notifies no listener, since later reads are compared with it. */
    async function pollOnce(isFirst = false): Promise<"on" | "ended" | "missing"> {
      try {
        const seen = await readVersion({ signal, deadlineAt: timing.clockMs() + READ_LIMIT_MS });
        const hasChanged = seen.version !== version;
        version = seen.version;
        pauseMs = hasChanged ? MIN_PAUSE_MS : Math.min(MAX_PAUSE_MS, pauseMs * GROWTH);
        if (hasChanged && !isFirst) for (const notify of listeners) notify();
        return seen.hasEnded ? "ended" : "on";
      } catch (error) {
        const facts = error instanceof Failure ? error.facts : undefined;
        if (facts?.kind === "not_found" || facts?.kind === "invalid_arguments") return "missing";
        pauseMs = Math.min(MAX_PAUSE_MS, pauseMs * 2);
        if (facts?.kind === "rate_limited")
          cooldownUntilAt = Math.max(cooldownUntilAt, timing.clockMs() + (facts.retryAfterSeconds ?? 0) * 1000);
        return "on";
      }
    }

    async function run(): Promise<void> {
      let state = await first;
      while (state === "on" && !signal.aborted) {
        const jittered = pauseMs * (1 + JITTER * (2 * timing.random() - 1));
        await wait(Math.max(jittered, cooldownUntilAt - timing.clockMs()), signal);
        state = await pollOnce();
      }
    }

    // If the first read fails, the first successful read counts as a change.
    const first = pollOnce(true);
    const poller: Poller = {
      listeners,
      exists: first.then((state) => state !== "missing"),
      stop: () => abort.abort(),
    };
    run()
      // A wait rejects only if the signal is aborted.
      .catch(() => undefined)
      .finally(() => {
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
