// Usage: seeded figures plus what was done in this process, per UTC day and over the entitlement.
import type { QuotaBucket, UsageBucket, UsageSummary } from "../../contract/usage.ts";
import { DAY, instant } from "../clock.ts";

interface Metric {
  readonly unit: UsageBucket["unit"];
  readonly grantedPerDay: bigint;
  readonly granted: bigint;
  /** Used before the emulator started: on its first day, and since activation. */
  readonly seededDay: bigint;
  readonly seeded: bigint;
}

const counted = (grantedPerDay: bigint, granted: bigint, seededDay: bigint, seeded: bigint): Metric => ({
  unit: "COUNT",
  grantedPerDay,
  granted,
  seededDay,
  seeded,
});

const METRICS = {
  JOBS_SUBMITTED: counted(1_000_000n, 100_000_000n, 4n, 130n),
  JOBS_RETRIED: counted(1_000_000n, 100_000_000n, 1n, 9n),
  JOBS_CANCELLED: counted(1_000_000n, 100_000_000n, 0n, 12n),
  INPUTS_REGISTERED: counted(1_000_000n, 100_000_000n, 2n, 13n),
  PROCESSING_REQUESTS: counted(1_000_000n, 100_000_000n, 1n, 4n),
  ASSET_DOWNLOADS: counted(10_000_000n, 1_000_000_000n, 3n, 57n),
  ASSET_BYTES: {
    unit: "BYTE",
    grantedPerDay: 1_099_511_627_776n,
    granted: 9_223_372_036_854_775_807n,
    seededDay: 45_210n,
    seeded: 9_007_199_254_740_993n,
  },
  // What a compute unit is, the contract between the parties has not yet defined.
  COMPUTE_UNITS: { ...counted(0n, 0n, 0n, 0n), unit: null },
} as const satisfies Record<string, Metric>;

export type MetricName = keyof typeof METRICS;

const noCounts = (): Map<string, bigint> => new Map();
const startOfDay = (now: number): number => Math.floor(now / DAY) * DAY;
const positive = (amount: bigint): bigint => (amount < 0n ? 0n : amount);

export class Usage {
  readonly activatedAt: number;
  readonly expiresAt: number;
  readonly #firstDay: number;
  #day: number;
  #today = noCounts();
  readonly #total = noCounts();

  constructor(startedAt: number) {
    this.activatedAt = startOfDay(startedAt) - 60 * DAY;
    this.expiresAt = startOfDay(startedAt) + 730 * DAY;
    this.#firstDay = startOfDay(startedAt);
    this.#day = this.#firstDay;
  }

  count(name: MetricName, now: number, amount = 1): void {
    this.#turn(now);
    for (const counts of [this.#today, this.#total]) counts.set(name, (counts.get(name) ?? 0n) + BigInt(amount));
  }

  /** Whether today's grant of this metric is used up. */
  isExhausted(name: MetricName, now: number): boolean {
    this.#turn(now);
    return METRICS[name].grantedPerDay <= this.#used(name, METRICS[name], "DAY");
  }

  secondsToReset(now: number): number {
    return Math.ceil((startOfDay(now) + DAY - now) / 1000);
  }

  summary(workspaceId: string, window: UsageSummary["window"], now: number): UsageSummary {
    this.#turn(now);
    const [start, end] = this.#bounds(window);
    return {
      workspaceId,
      environment: "SANDBOX",
      window,
      observedAt: instant(now),
      quotaScope: "ORGANIZATION_SHARED",
      entitlementState: "ACTIVE",
      resetTimezone: "UTC",
      activatedAt: instant(this.activatedAt),
      expiresAt: instant(this.expiresAt),
      buckets: Object.entries<Metric>(METRICS).map(([metric, facts]) => {
        const granted = window === "DAY" ? facts.grantedPerDay : facts.granted;
        const used = this.#used(metric, facts, window);
        return {
          metric,
          unit: facts.unit,
          unitDefinitionState: facts.unit === null ? "NOT_CONFIGURED" : "DEFINED",
          quotaScope: "ORGANIZATION_SHARED",
          windowStart: instant(start),
          windowEnd: instant(end),
          granted: String(granted),
          used: String(used),
          reserved: "0",
          remaining: String(positive(granted - used)),
          resetAt: window === "DAY" ? instant(end) : null,
          expiresAt: instant(this.expiresAt),
        };
      }),
    };
  }

  /** The day's quotas as the capabilities show them: of the metrics whose unit is defined. */
  quotas(now: number): readonly QuotaBucket[] {
    this.#turn(now);
    const [start, end] = this.#bounds("DAY");
    return Object.entries<Metric>(METRICS)
      .filter(([, { unit }]) => unit !== null)
      .map(([metric, facts]) => {
        const used = this.#used(metric, facts, "DAY");
        return {
          unit: metric,
          windowStart: instant(start),
          windowEnd: instant(end),
          granted: Number(facts.grantedPerDay),
          used: Number(used),
          reserved: 0,
          remaining: Number(positive(facts.grantedPerDay - used)),
          resetAt: instant(end),
          expiresAt: instant(this.expiresAt),
        };
      });
  }

  #bounds(window: UsageSummary["window"]): readonly [number, number] {
    return window === "DAY" ? [this.#day, this.#day + DAY] : [this.activatedAt, this.expiresAt];
  }

  #used(name: string, { seededDay, seeded }: Metric, window: UsageSummary["window"]): bigint {
    if (window === "ENTITLEMENT") return seeded + (this.#total.get(name) ?? 0n);
    return (this.#day === this.#firstDay ? seededDay : 0n) + (this.#today.get(name) ?? 0n);
  }

  /** A new UTC day starts at nothing. */
  #turn(now: number): void {
    if (startOfDay(now) === this.#day) return;
    this.#day = startOfDay(now);
    this.#today = noCounts();
  }
}
