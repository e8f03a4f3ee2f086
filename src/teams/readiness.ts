// Checks the dependencies of an instance for /readyz. A slow dependency is reported as degraded and not as a failure: if all instances
// share it, a load balancer that removes them all would only stop calls that still succeed.
import { setTimeout as sleep } from "node:timers/promises";
import { withTimeout } from "../core/async.ts";
import { errorMessage } from "../core/failure.ts";
import type { Log } from "../mcp/runtime.ts";

/** A successful check is repeated after this time, because probes are frequent. */
const FRESH_MS = 5_000;
/** A check that takes longer is degraded, and a probe does not wait longer for it. */
const SLOW_MS = 500;
/** A check without a result after this time has failed. The search for a new PostgreSQL primary takes up to 10 s. */
const TIMEOUT_MS = 15_000;

export interface CheckResult {
  readonly status: "ok" | "degraded" | "failed";
  /** Duration of the check, in milliseconds. */
  readonly ms: number;
  readonly reason?: string;
}

export interface HealthCheck {
  /** Returns within 0.5 s, except before the first result. Never rejects. */
  (): Promise<CheckResult>;
  latest(): CheckResult | undefined;
}

interface HealthCheckOptions {
  /** Rejects with the reason if calls cannot be served, and resolves with facts about the dependency. */
  run(): Promise<object | undefined>;
  monotonicMs(): number;
  /** The name of the dependency, in the log. */
  readonly name: string;
  readonly log: Pick<Log, "info" | "warn">;
}

export function createHealthCheck({ run, monotonicMs, name, log }: HealthCheckOptions): HealthCheck {
  let latest: CheckResult | undefined;
  let finishedAtMs = 0;
  let running: Promise<CheckResult> | undefined;
  let startedAtMs = 0;

  function report(result: CheckResult): CheckResult {
    if (result.status !== (latest?.status ?? "ok"))
      log[result.status === "ok" ? "info" : "warn"](
        { dependency: name, ...result },
        "the state of a dependency has changed",
      );
    latest = result;
    return result;
  }

  async function runOnce(): Promise<CheckResult> {
    startedAtMs = monotonicMs();
    const elapsedMs = () => Math.round(monotonicMs() - startedAtMs);
    const signal = new AbortController().signal;
    const timeoutError = () => new Error(`no response within ${TIMEOUT_MS / 1_000} s`);
    try {
      const facts = await withTimeout(run(), { signal, timeoutMs: TIMEOUT_MS, timeoutError });
      const ms = elapsedMs();
      // The first check also opens connections and migrates tables.
      const isSlow = ms > SLOW_MS && latest !== undefined;
      return report({
        status: isSlow ? "degraded" : "ok",
        ms,
        ...(isSlow && { reason: "slow" }),
        ...facts,
      });
    } catch (error) {
      return report({ status: "failed", ms: elapsedMs(), reason: errorMessage(error) });
    } finally {
      finishedAtMs = monotonicMs();
      running = undefined;
    }
  }

  async function check(): Promise<CheckResult> {
    const before = latest;
    if (before && before.status !== "failed" && monotonicMs() - finishedAtMs <= FRESH_MS) return before;
    running ??= runOnce();
    if (!before) return await running;
    const result = await Promise.race([running, sleep(SLOW_MS, undefined, { ref: false })]);
    if (result) return result;
    // A dependency whose last check failed stays failed until a check succeeds.
    if (before.status === "failed") return before;
    return report({ ...before, status: "degraded", ms: Math.round(monotonicMs() - startedAtMs), reason: "slow" });
  }
  return Object.assign(check, { latest: () => latest });
}

/** Returns the value of a gauge: 1 if the dependency is slow or not usable, otherwise 0. A scrape also counts as a probe. */
export function readDegraded(check: HealthCheck): 0 | 1 {
  void check();
  return (check.latest()?.status ?? "ok") === "ok" ? 0 : 1;
}

/** Responds to /readyz: 503 if a check has failed. The body lists each check. */
export async function checkAll(checks: Readonly<Record<string, HealthCheck>>): Promise<Response> {
  const results = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => [name, await check()] as const),
  );
  const worst = (status: CheckResult["status"]) => results.filter(([, result]) => result.status === status);
  const [failed] = worst("failed");
  const status = failed ? "not ready" : worst("degraded").length > 0 ? "degraded" : "ok";
  const reason = failed && { reason: `${failed[0]}: ${failed[1].reason}` };
  return Response.json({ status, ...reason, checks: Object.fromEntries(results) }, { status: failed ? 503 : 200 });
}
