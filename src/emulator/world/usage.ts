// Computes usage per UTC day and over the entitlement: seeded figures plus the usage in this process.
import type { QuotaBucket, UsageBucket, UsageSummary } from "../../contract/usage.ts";
import { DAY, toInstant } from "../clock.ts";

interface Metric {
  readonly unit: UsageBucket["unit"];
  readonly grantedPerDay: bigint;
  readonly granted: bigint;
  /** Amounts used before the emulator started: on the day of the start, and since activation. */
  readonly seededDay: bigint;
  readonly seeded: bigint;
}

const COUNT = { unit: "COUNT", grantedPerDay: 1_000_000n, granted: 100_000_000n } as const;

const METRICS = {
  JOBS_SUBMITTED: { ...COUNT, seededDay: 4n, seeded: 130n },
  JOBS_RETRIED: { ...COUNT, seededDay: 1n, seeded: 9n },
  JOBS_CANCELLED: { ...COUNT, seededDay: 0n, seeded: 12n },
  INPUTS_REGISTERED: { ...COUNT, seededDay: 2n, seeded: 13n },
  PROCESSING_REQUESTS: { ...COUNT, seededDay: 1n, seeded: 4n },
  ASSET_DOWNLOADS: { ...COUNT, grantedPerDay: 10_000_000n, granted: 1_000_000_000n, seededDay: 3n, seeded: 57n },
  ASSET_BYTES: {
    unit: "BYTE",
    grantedPerDay: 1_099_511_627_776n,
    granted: 9_223_372_036_854_775_807n,
    seededDay: 442_381_676_698n,
    seeded: 9_007_199_254_740_993n,
  },
  // The contract between the parties has not defined a compute unit yet.
  COMPUTE_UNITS: { unit: null, grantedPerDay: 0n, granted: 0n, seededDay: 0n, seeded: 0n },
} as const satisfies Record<string, Metric>;

export type MetricName = keyof typeof METRICS;

const createCounts = (): Map<string, bigint> => new Map();
const startOfDay = (now: number): number => Math.floor(now / DAY) * DAY;

export class Usage {
  readonly #firstDay: number;
  readonly activatedAt: number;
  readonly expiresAt: number;
  #day: number;
  #today = createCounts();
  readonly #total = createCounts();

  constructor(startedAt: number) {
    this.#firstDay = this.#day = startOfDay(startedAt);
    this.activatedAt = this.#firstDay - 60 * DAY;
    this.expiresAt = this.#firstDay + 730 * DAY;
  }

  count(name: MetricName, now: number, amount = 1): void {
    this.#startNewDay(now);
    for (const counts of [this.#today, this.#total]) counts.set(name, (counts.get(name) ?? 0n) + BigInt(amount));
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

  #startNewDay(now: number): void {
    if (startOfDay(now) === this.#day) return;
    this.#day = startOfDay(now);
    this.#today = createCounts();
  }
}
