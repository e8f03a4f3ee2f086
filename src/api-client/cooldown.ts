// When the API asks for a pause (429 with Retry-After), all processes that share the credentials await this cooldown.
import { Failure } from "../core/failure.ts";
import type { Cooldown } from "../core/hooks.ts";
import { ANSWER_MARGIN_MS, type CallContext, type Timing, timeLeftMs } from "./attempts.ts";
import { retryAfterSeconds } from "./classify.ts";

/** Maximum cooldown. One wrong header must not block many processes for days. */
const MAX_COOLDOWN_MS = 3_600_000;
/** Requests that wait for the same time are spread over this period after it. */
const SPREAD_MS = 250;
const TOO_MANY_REQUESTS = 429;

/** Waits until a request may be sent. Throws Failure, with nothing sent, if the call has too little time left. */
async function awaitCooldown(cooldown: Cooldown, context: CallContext, timing: Timing): Promise<void> {
  for (;;) {
    const leftMs = await cooldown.leftMs();
    if (leftMs <= 0) return;
    if (leftMs + ANSWER_MARGIN_MS > timeLeftMs(context, timing)) {
      const seconds = Math.ceil(leftMs / 1000);
      throw new Failure({
        kind: "rate_limited",
        message: "Not sent: the API asked all callers of this team to wait (HTTP 429).",
        retryable: true,
        sideEffect: "none",
        retryAfterSeconds: seconds,
        next: `Wait ${seconds} s, then repeat the call.`,
      });
    }
    await timing.sleep(leftMs + timing.random() * SPREAD_MS, context.signal);
  }
}

interface ResponseHead {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** Wraps `send`: awaits the cooldown first, and records a cooldown that the response asks for. */
export const withCooldown =
  <R, A extends ResponseHead>(
    cooldown: Cooldown,
    context: CallContext,
    timing: Timing,
    send: (request: R) => Promise<A>,
  ) =>
  async (request: R): Promise<A> => {
    await awaitCooldown(cooldown, context, timing);
    const response = await send(request);
    const { status, headers } = response;
    const seconds = status === TOO_MANY_REQUESTS ? retryAfterSeconds(headers, timing.now()) : undefined;
    if (seconds !== undefined) await cooldown.record(Math.min(seconds * 1000, MAX_COOLDOWN_MS));
    return response;
  };
