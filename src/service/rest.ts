// The rest that the service asked for (429 with Retry-After), where many processes share one set of credentials: all of them obey it.
import { Failure } from "../failure.ts";
import type { Cooldown } from "../hooks.ts";
import { type CallContext, type Timing, timeLeftMs } from "./attempts.ts";
import { retryAfterSeconds } from "./problems.ts";

/** One odd header must not silence many for days: after so long one request asks anew. */
const LONGEST_MS = 3_600_000;
/** With less time left than this, a request is not worth waiting for. */
const MARGIN_MS = 500;
/** Those who wait for the same instant send within so long after it. */
const SPREAD_MS = 250;
const TOO_MANY_REQUESTS = 429;

/** Waits until a request may be sent. Throws Failure where that does not fit the call; nothing was sent then. */
export async function sitOut(rest: Cooldown, context: CallContext, timing: Timing): Promise<void> {
  for (;;) {
    const leftMs = await rest.leftMs();
    if (leftMs <= 0) return;
    if (leftMs + MARGIN_MS > timeLeftMs(context, timing)) {
      const seconds = Math.ceil(leftMs / 1000);
      throw new Failure({
        kind: "rate_limited",
        message: "Not sent: the service asked all callers of this team to wait (HTTP 429).",
        retryable: true,
        sideEffect: "none",
        retryAfterSeconds: seconds,
        next: `Wait ${seconds} s, then repeat the call.`,
      });
    }
    await timing.sleep(leftMs + timing.random() * SPREAD_MS, context.signal);
  }
}

interface Refused {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** Tells the others, where an answer asks for a rest. */
export async function heed(rest: Cooldown, { status, headers }: Refused, now: number): Promise<void> {
  const seconds = status === TOO_MANY_REQUESTS ? retryAfterSeconds(headers, now) : undefined;
  if (seconds !== undefined) await rest.ask(Math.min(seconds * 1000, LONGEST_MS));
}
