// Polls the job while the page is visible and the job may still change.
import { useEffect, useState } from "preact/hooks";
import { reasonOf, type ToolResult } from "../values.ts";
import { hasEnded, jobOf } from "./model.ts";

const MIN_DELAY_MS = 2_000;
const MAX_DELAY_MS = 15_000;
const BACKOFF_FACTOR = 1.5;
/** A frame that is left open must not poll forever. */
const MAX_UNCHANGED_MS = 30 * 60_000;

export type PollingState = "following" | "ended" | "stopped";

interface Options {
  readonly jobId: string;
  /** Undefined if the view cannot call tools. */
  readonly read: (() => Promise<ToolResult>) | undefined;
  /** Increases when the job has to be read immediately. */
  readonly refreshCount: number;
}

/** Why polling stopped: the reason why the job could not be read; undefined in all other cases. */
interface PollingStop {
  readonly why: string | undefined;
}

/** Returns whether polling continues. It stops when the job ends, a call fails, nothing changes for 30 min, or the frame is removed. */
export function useJobPolling(
  { jobId, read, refreshCount }: Options,
  isFinished: boolean,
): { readonly pollingState: PollingState } & PollingStop {
  const [stopped, setStopped] = useState<PollingStop>();

  useEffect(() => {
    if (read === undefined || isFinished) return undefined;
    setStopped(undefined);
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isStopped = false;
    let delayMs = MIN_DELAY_MS;
    let version: number | undefined;
    let changedAt = Date.now();

    function stop(why?: string): void {
      isStopped = true;
      clearTimeout(timer);
      setStopped({ why });
    }
    const end = () => stop();

    async function poll(): Promise<void> {
      timer = undefined;
      const found = await read?.().then(
        (result) => (result.isError ? result.text : (jobOf(result) ?? "this is no job.")),
        (error: unknown) => reasonOf(error),
      );
      if (isStopped || found === undefined) return;
      if (typeof found === "string") return stop(found);
      const job = found;
      if (hasEnded(job)) return;
      const hasChanged = job.version !== version;
      version = job.version;
      if (hasChanged) changedAt = Date.now();
      if (Date.now() - changedAt > MAX_UNCHANGED_MS) return stop();
      delayMs = hasChanged ? MIN_DELAY_MS : Math.min(MAX_DELAY_MS, delayMs * BACKOFF_FACTOR);
      schedulePoll();
    }

    function schedulePoll(): void {
      if (!isStopped && !document.hidden) timer ??= setTimeout(() => void poll(), delayMs);
    }

    function onVisible(): void {
      clearTimeout(timer);
      timer = undefined;
      schedulePoll();
    }

    document.addEventListener("visibilitychange", onVisible);
    window.addEventListener("teardown", end);
    if (refreshCount > 0) void poll();
    else schedulePoll();
    return () => {
      isStopped = true;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", onVisible);
      window.removeEventListener("teardown", end);
    };
  }, [jobId, read === undefined, isFinished, refreshCount]);

  const why = stopped?.why;
  if (isFinished) return { pollingState: "ended", why: undefined };
  return { pollingState: stopped || read === undefined ? "stopped" : "following", why };
}
