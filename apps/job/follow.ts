// Asks for the job again and again while somebody looks and it may still move.
import { useEffect, useState } from "preact/hooks";
import { reasonOf, type ToolResult } from "../values.ts";
import { hasEnded, jobOf } from "./model.ts";

const FIRST_MS = 2_000;
const LAST_MS = 15_000;
const SLOWER = 1.5;
/** A frame that is left open must not ask for ever. */
const STILL_MS = 30 * 60_000;

export type Following = "following" | "ended" | "stopped";

interface Options {
  readonly jobId: string;
  /** Undefined: nobody can be asked. */
  readonly read: (() => Promise<ToolResult>) | undefined;
  /** Counts up where the person wants it looked at now. */
  readonly again: number;
}

/** How it ended: nothing to be said of, or why the job could not be read. */
interface Stop {
  readonly why: string | undefined;
}

/** Whether it still asks. It stops at the job's end, when a call fails, when nothing moves, and with the frame. */
export function useFollowing(
  { jobId, read, again }: Options,
  isOver: boolean,
): { readonly following: Following } & Stop {
  const [stopped, setStopped] = useState<Stop>();

  useEffect(() => {
    if (read === undefined || isOver) return undefined;
    setStopped(undefined);
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isGone = false;
    let delayMs = FIRST_MS;
    let version: number | undefined;
    let movedAt = Date.now();

    function stop(why?: string): void {
      isGone = true;
      clearTimeout(timer);
      setStopped({ why });
    }
    const end = () => stop();

    async function look(): Promise<void> {
      timer = undefined;
      const found = await read?.().then(
        (result) => (result.isError ? result.text : (jobOf(result) ?? "this is no job.")),
        (error: unknown) => reasonOf(error),
      );
      if (isGone || found === undefined) return;
      if (typeof found === "string") return stop(found);
      const job = found;
      if (hasEnded(job)) return;
      const hasMoved = job.version !== version;
      version = job.version;
      if (hasMoved) movedAt = Date.now();
      if (Date.now() - movedAt > STILL_MS) return stop();
      delayMs = hasMoved ? FIRST_MS : Math.min(LAST_MS, delayMs * SLOWER);
      plan();
    }

    function plan(): void {
      if (!isGone && !document.hidden) timer ??= setTimeout(() => void look(), delayMs);
    }

    function onVisible(): void {
      clearTimeout(timer);
      timer = undefined;
      plan();
    }

    document.addEventListener("visibilitychange", onVisible);
    window.addEventListener("teardown", end);
    if (again > 0) void look();
    else plan();
    return () => {
      isGone = true;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", onVisible);
      window.removeEventListener("teardown", end);
    };
  }, [jobId, read === undefined, isOver, again]);

  const why = stopped?.why;
  if (isOver) return { following: "ended", why: undefined };
  return { following: stopped || read === undefined ? "stopped" : "following", why };
}
