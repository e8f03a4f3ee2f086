// The chaos tests: a deployment serves callers while its parts are killed, stopped, disconnected or replaced. `npm test` runs
// some of them in small sizes, and `npm run test:chaos` runs all of them (docs/contribute/testing.md).
import { expect } from "vitest";
import { deploymentMissing } from "../../support/deployment.ts";
import { namespacesMissing } from "../../support/fleet.ts";
import { buildNextVersion } from "../../support/next-version.ts";
import { runCount } from "../../support/thorough.ts";
import { testUnless } from "../../support/unless.ts";
import { conformanceMissing, runConformanceThroughBalancer } from "./conformance.ts";
import * as downloads from "./downloads.ts";
import { failOverPrimary } from "./failovers.ts";
import { killBalancers, killInstances, restartInstances, stopInstances } from "./kills.ts";
import type { Outcome } from "./under-load.ts";

const SEED = Number(process.env["FAULT_SEED"] ?? Math.floor(Math.random() * 1_000_000));
const { CHAOS = "usual", CHAOS_ROW } = process.env;
const USUAL_SIZES = { instances: 2, teams: 2, callers: 6 };
const SMALL_SIZES = { instances: 2, teams: 2, callers: 12 };
const FULL_SIZES = { instances: 3, teams: 5, callers: 50 };

interface ChaosTest<P> {
  readonly title: string;
  readonly missing: string | undefined;
  /** Sizes for `npm test`; without them the row runs only in `npm run test:chaos`. */
  readonly usual?: P;
  readonly small: P;
  readonly full: P;
  readonly run: (sizes: P, seed: number) => Promise<Outcome>;
}

function defineRow<P>(number: number, { title, missing, usual, small, full, run }: ChaosTest<P>): void {
  const sizes = CHAOS === "usual" ? usual : CHAOS === "full" ? full : small;
  if (sizes === undefined || (CHAOS_ROW ?? String(number)) !== String(number)) return;
  const timeout = CHAOS === "full" ? 7_200_000 : 600_000;
  testUnless(
    missing,
    `${title} (row ${number}, seed ${SEED})`,
    async () => {
      const { counts, failures } = await run(sizes, SEED);
      const formattedCounts = Object.entries(counts).map(([name, count]) => `${name} ${count}`);
      console.info(`row ${number}: ${formattedCounts.join(", ")}`);
      expect(failures).toEqual([]);
    },
    timeout,
  );
}

defineRow(1, {
  title: "no action runs twice and every caller gets its outcome while instances are killed behind haproxy",
  missing: deploymentMissing ?? namespacesMissing,
  usual: { ...USUAL_SIZES, kills: runCount(2, 6) },
  small: { ...SMALL_SIZES, instances: 3, kills: 4 },
  full: { ...FULL_SIZES, kills: 300 },
  run: killInstances,
});

defineRow(2, {
  title: "no action runs twice and every caller gets its outcome while haproxy is killed",
  missing: deploymentMissing,
  small: { ...SMALL_SIZES, kills: 6 },
  full: { ...FULL_SIZES, kills: 100 },
  run: killBalancers,
});

defineRow(3, {
  title: "no action runs twice or is lost in failovers of the database, every third with the replica cut off before",
  missing: deploymentMissing,
  usual: { ...SMALL_SIZES, failovers: runCount(3, 10) },
  small: { ...SMALL_SIZES, failovers: 3 },
  full: { ...FULL_SIZES, failovers: 30 },
  run: failOverPrimary,
});

defineRow(4, {
  title: "no request fails in rolling restarts, the last to a build with one migration more",
  missing: deploymentMissing,
  usual: { ...USUAL_SIZES, restarts: 1, next: undefined },
  small: { ...SMALL_SIZES, restarts: 2, next: buildNextVersion },
  full: { ...FULL_SIZES, restarts: 20, next: buildNextVersion },
  run: restartInstances,
});

defineRow(5, {
  title: "no action runs twice while instances are stopped for longer than a lease, and continued",
  missing: deploymentMissing ?? namespacesMissing,
  small: { ...SMALL_SIZES, stops: 1, stoppedMs: 40_000 },
  full: { ...FULL_SIZES, stops: 10, stoppedMs: 40_000 },
  run: stopInstances,
});

defineRow(11, {
  title: "large files arrive whole in bounded memory; none that breaks off with a killed instance looks whole",
  missing: deploymentMissing,
  usual: downloads.SMALL_COUNTS,
  small: downloads.SMALL_COUNTS,
  full: downloads.FULL_COUNTS,
  run: downloads.testDownloads,
});

defineRow(12, {
  title: "passes the official conformance suite through a balancer that adds a bearer token",
  missing: deploymentMissing ?? conformanceMissing,
  small: { instances: 2 },
  full: { instances: 2 },
  run: runConformanceThroughBalancer,
});
