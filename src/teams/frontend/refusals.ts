// Counts refused requests by reason, and logs at most one line a minute for each reason with the token's values and the required values.
import type { Log } from "../../mcp/runtime.ts";
import type { Telemetry } from "../../telemetry/port.ts";

/** "no_token" and "expired_token" are part of every sign-in, so they are counted and not logged. */
const REASONS = [
  "no_token",
  "expired_token",
  "invalid_token",
  "wrong_audience",
  "insufficient_scope",
  "no_team",
  "rate_limited",
  "team_limited",
  "instance_full",
  "bad_request_origin",
  "provider_unavailable",
  "signing_key_unknown",
] as const;
export type RefusalReason = (typeof REASONS)[number];

const LOG_INTERVAL_MS = 60_000;
const ROUTINE: ReadonlySet<RefusalReason> = new Set(["no_token", "expired_token"]);

export interface RefusalOptions {
  readonly log: Log;
  readonly telemetry?: Pick<Telemetry, "countRefusals"> | undefined;
  monotonicMs(): number;
}

/** The returned function records one refusal. `facts` are logged; they contain no token and no subject. */
export function createRefusals({ log, telemetry, monotonicMs }: RefusalOptions) {
  // Each counter begins at 0, because Prometheus does not count an increase from a counter's absence to its first value.
  for (const reason of REASONS) telemetry?.countRefusals(reason, 0);
  const logged = new Map<RefusalReason, { readonly atMs: number; refusedSince: number }>();
  return (reason: RefusalReason, facts: object): void => {
    telemetry?.countRefusals(reason, 1);
    if (ROUTINE.has(reason)) return;
    const last = logged.get(reason);
    if (last) last.refusedSince += 1;
    if (last && monotonicMs() - last.atMs < LOG_INTERVAL_MS) return;
    log.warn({ refusal: reason, count: last?.refusedSince ?? 1, ...facts }, "requests were refused");
    logged.set(reason, { atMs: monotonicMs(), refusedSince: 0 });
  };
}
export type RecordRefusal = ReturnType<typeof createRefusals>;
