// Computes usage per UTC day and over the entitlement: seeded figures plus the usage in this process.
import type { QuotaBucket, UsageBucket, UsageSummary } from "../../contract/usage.ts";
import { DAY, toInstant } from "../clock.ts";

interface Metric {
  readonly unit: UsageBucket["unit"];
  readonly grantedPerDay: bigint;
  readonly granted: bigint;
  /** Used before the emulator started: on its first day, and since activation. */
  readonly seededDay: bigint;
  readonly seeded: bigint;
}

const defineMetric = (
  unit: Metric["unit"],
  grantedPerDay: bigint,
  granted: bigint,
  seededDay: bigint,
  seeded: bigint,
) => ({
  unit,
  grantedPerDay,
  granted,
  seededDay,
  seeded,
});

const METRICS = {
  JOBS_SUBMITTED: defineMetric("COUNT", 1_000_000n, 100_000_000n, 4n, 130n),
  JOBS_RETRIED: defineMetric("COUNT", 1_000_000n, 100_000_000n, 1n, 9n),
  JOBS_CANCELLED: defineMetric("COUNT", 1_000_000n, 100_000_000n, 0n, 12n),
  INPUTS_REGISTERED: defineMetric("COUNT", 1_000_000n, 100_000_000n, 2n, 13n),
  PROCESSING_REQUESTS: defineMetric("COUNT", 1_000_000n, 100_000_000n, 1n, 4n),
  ASSET_DOWNLOADS: defineMetric("COUNT", 10_000_000n, 1_000_000_000n, 3n, 57n),
  ASSET_BYTES: defineMetric(
    "BYTE",
    1_099_511_627_776n,
    9_223_372_036_854_775_807n,
    442_381_676_698n,
    9_007_199_254_740_993n,
  ),
  // The contract between the parties has not defined a compute unit yet.
  COMPUTE_UNITS: defineMetric(null, 0n, 0n, 0n, 0n),
} as const satisfies Record<string, Metric>;

export type MetricName = keyof typeof METRICS;

const createCounts = (): Map<string, bigint> => new Map();
const startOfDay = (now: number): number => Math.floor(now / DAY) * DAY;

export class Usage {
  readonly activatedAt: number;
  readonly expiresAt: number;
  readonly #firstDay: number;
  #day: number;
  #today = createCounts();
  readonly #total = createCounts();

  constructor(startedAt: number) {
    this.activatedAt = startOfDay(startedAt) - 60 * DAY;
    this.expiresAt = startOfDay(startedAt) + 730 * DAY;
    this.#firstDay = startOfDay(startedAt);
    this.#day = this.#firstDay;
  }

  count(name: MetricName, now: number, amount = 1): void {
    this.#startNewDay(now);
    for (const counts of [this.#today, this.#total]) counts.set(name, (counts.get(name) ?? 0n) + BigInt(amount));
  }

  /** Returns whether today's grant of this metric is used up. */
  isExhausted(name: MetricName, now: number): boolean {
    this.#startNewDay(now);
    return METRICS[name].grantedPerDay <= this.#usedAmount(name, METRICS[name], "DAY");
  }

  secondsToReset(now: number): number {
    return Math.ceil((startOfDay(now) + DAY - now) / 1000);
  }

  summary(workspaceId: string, window: UsageSummary["window"], now: number): UsageSummary {
    return {
      workspaceId,
      environment: "SANDBOX",
      window,
      observedAt: toInstant(now),
      quotaScope: "ORGANIZATION_SHARED",
      entitlementState: "ACTIVE",
      resetTimezone: "UTC",
      activatedAt: toInstant(this.activatedAt),
      expiresAt: toInstant(this.expiresAt),
      buckets: this.#computeBuckets(window, now).map(({ metric, unit, bounds, granted, used, remaining }) => ({
        metric,
        unit,
        unitDefinitionState: unit === null ? "NOT_CONFIGURED" : "DEFINED",
        quotaScope: "ORGANIZATION_SHARED",
        ...bounds,
        granted: String(granted),
        used: String(used),
        reserved: "0",
        remaining: String(remaining),
        resetAt: window === "DAY" ? bounds.windowEnd : null,
        expiresAt: toInstant(this.expiresAt),
      })),
    };
  }

  /** Returns the day's quotas for the capabilities, only for metrics whose unit is defined. */
  quotas(now: number): readonly QuotaBucket[] {
    return this.#computeBuckets("DAY", now)
      .filter(({ unit }) => unit !== null)
      .map(({ metric, bounds, granted, used, remaining }) => ({
        unit: metric,
        ...bounds,
        granted: Number(granted),
        used: Number(used),
        reserved: 0,
        remaining: Number(remaining),
        resetAt: bounds.windowEnd,
        expiresAt: toInstant(this.expiresAt),
      }));
  }

  #computeBuckets(window: UsageSummary["window"], now: number) {
    this.#startNewDay(now);
    const [start, end] = window === "DAY" ? [this.#day, this.#day + DAY] : [this.activatedAt, this.expiresAt];
    const bounds = { windowStart: toInstant(start), windowEnd: toInstant(end) };
    return Object.entries<Metric>(METRICS).map(([metric, definition]) => {
      const granted = window === "DAY" ? definition.grantedPerDay : definition.granted;
      const used = this.#usedAmount(metric, definition, window);
      return { metric, unit: definition.unit, bounds, granted, used, remaining: granted > used ? granted - used : 0n };
    });
  }

  #usedAmount(name: string, { seededDay, seeded }: Metric, window: UsageSummary["window"]): bigint {
    if (window === "ENTITLEMENT") return seeded + (this.#total.get(name) ?? 0n);
    return (this.#day === this.#firstDay ? seededDay : 0n) + (this.#today.get(name) ?? 0n);
  }

  /** Resets the counts of the day when a new UTC day has started. */
  #startNewDay(now: number): void {
    if (startOfDay(now) === this.#day) return;
    this.#day = startOfDay(now);
    this.#today = createCounts();
  }
}
