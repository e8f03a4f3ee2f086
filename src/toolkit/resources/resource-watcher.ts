// Watching resources for those who listen: one poller for each, however many do; often while it moves, seldom while not.
import { setTimeout as sleep } from "node:timers/promises";
import type { CallContext, Timing } from "../../api-client/attempts.ts";
import { Failure } from "../../core/failure.ts";
import type { ObservedVersion } from "./resource.ts";

const MIN_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 30_000;
const GROWTH = 1.5;
/** Pollers that began together do not stay together. */
const JITTER = 0.2;
/** One look, with its retries. */
const READ_LIMIT_MS = 10_000;
export const MAX_WATCHED = 100;

export interface ResourceWatcherOptions {
  readonly timing: Pick<Timing, "now" | "random">;
  /** Waits; must not keep the process alive. Rejects when the signal fires. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<unknown>;
  readonly maxWatched?: number;
}

export interface Watch {
  /** Settles after the first look: false when there is no such resource. From then on no move is missed. */
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
  /** The service asked for rest: nobody looks before that. */
  let cooldownUntilAt = 0;

  function start(name: string, readVersion: (context: CallContext) => Promise<ObservedVersion>): Poller {
    const abort = new AbortController();
    const { signal } = abort;
    const listeners = new Set<() => void>();
    let version: number | undefined;
    let pauseMs = MIN_PAUSE_MS;

    /** One look: whether it is worth looking again. The first one notifies nobody: later ones are compared with it. */
    async function pollOnce(isFirst = false): Promise<"on" | "ended" | "missing"> {
      try {
        const seen = await readVersion({ signal, deadlineAt: timing.now() + READ_LIMIT_MS });
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
          cooldownUntilAt = Math.max(cooldownUntilAt, timing.now() + (facts.retryAfterSeconds ?? 0) * 1000);
        return "on";
      }
    }

    async function run(): Promise<void> {
      let state = await first;
      while (state === "on" && !signal.aborted) {
        const jittered = pauseMs * (1 + JITTER * (2 * timing.random() - 1));
        await wait(Math.max(jittered, cooldownUntilAt - timing.now()), signal);
        state = await pollOnce();
      }
    }

    // If it fails, the first one that does not fail counts as a move.
    const first = pollOnce(true);
    const poller: Poller = {
      listeners,
      exists: first.then((state) => state !== "missing"),
      stop: () => abort.abort(),
    };
    run()
      // Only the signal ends a wait early.
      .catch(() => undefined)
      .finally(() => {
        if (pollers.get(name) === poller) pollers.delete(name);
      });
    return poller;
  }

  return {
    /** How many resources are being watched. */
    count: () => pollers.size,

    /** Calls `onMove` each time the resource of this name changes. Throws Failure when there are too many to watch. */
    watch(name: string, readVersion: (context: CallContext) => Promise<ObservedVersion>, onChange: () => void): Watch {
      let poller = pollers.get(name);
      if (!poller) {
        if (pollers.size >= maxWatched) throw tooManyWatchedFailure(maxWatched);
        poller = start(name, readVersion);
        pollers.set(name, poller);
      }
      const mine = poller;
      // A function of its own: the same one may listen twice.
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
