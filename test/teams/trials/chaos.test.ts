// The chaos tests: a deployment with callers at work, while its parts are killed, stopped, cut off or replaced. `npm test` has some of them in
// small numbers, `npm run test:chaos` all of them (docs/testing.md).
import { expect, test } from "vitest";
import { deploymentMissing } from "../../support/deployment.ts";
import { namespacesMissing } from "../../support/fleet.ts";
import { buildNextVersion } from "../../support/next-version.ts";
import { runs } from "../../support/thorough.ts";
import { conformanceMissing, throughBalancer } from "./conformance.ts";
import * as downloads from "./downloads.ts";
import { failedOver } from "./failovers.ts";
import { killedBalancer, killedInstances, rollingRestarts, stoppedInstances } from "./kills.ts";
import type { Outcome } from "./under-load.ts";

const SEED = Number(process.env["FAULT_SEED"] ?? Math.floor(Math.random() * 1_000_000));
const { CHAOS = "usual", CHAOS_ROW } = process.env;
const USUAL = { instances: 2, teams: 2, callers: 6 };
const SMALL = { instances: 2, teams: 2, callers: 12 };
const WHOLE = { instances: 3, teams: 5, callers: 50 };

interface Row<P> {
  readonly title: string;
  readonly missing: string | undefined;
  /** Its sizes in `npm test`, if it is part of that. */
  readonly usual?: P;
  readonly small: P;
  readonly whole: P;
  readonly trial: (sizes: P, seed: number) => Promise<Outcome>;
}

function row<P>(number: number, { title, missing, usual, small, whole, trial }: Row<P>): void {
  const sizes = CHAOS === "usual" ? usual : CHAOS === "whole" ? whole : small;
  if (sizes === undefined || (CHAOS_ROW ?? String(number)) !== String(number)) return;
  const skipped = missing === undefined ? "" : ` (skipped: ${missing})`;
  const timeout = CHAOS === "whole" ? 7_200_000 : 600_000;
  test.skipIf(missing !== undefined)(`${title} (row ${number}, seed ${SEED})${skipped}`, { timeout }, async () => {
    const { counts, wrong } = await trial(sizes, SEED);
    const counted = Object.entries(counts).map(([name, count]) => `${name} ${count}`);
    console.info(`row ${number}: ${counted.join(", ")}`);
    expect(wrong).toEqual([]);
  });
}

row(1, {
  title: "no action runs twice and every caller gets its outcome while instances are killed behind haproxy",
  missing: deploymentMissing ?? namespacesMissing,
  usual: { ...USUAL, kills: runs(2, 6) },
  small: { ...SMALL, instances: 3, kills: 4 },
  whole: { ...WHOLE, kills: 300 },
  trial: killedInstances,
});

row(2, {
  title: "no action runs twice and every caller gets its outcome while haproxy is killed, or one of two of them",
  missing: deploymentMissing,
  small: { ...SMALL, kills: 6, killsOfTwo: 4 },
  whole: { ...WHOLE, kills: 100, killsOfTwo: 40 },
  trial: killedBalancer,
});

row(3, {
  title: "no action runs twice or is lost in failovers of the database, every third with the replica cut off before",
  missing: deploymentMissing,
  usual: { ...SMALL, failovers: runs(3, 10) },
  small: { ...SMALL, failovers: 3 },
  whole: { ...WHOLE, failovers: 30 },
  trial: failedOver,
});

row(4, {
  title: "no request fails in rolling restarts, the last to a build with one migration more",
  missing: deploymentMissing,
  usual: { ...USUAL, restarts: 1, next: undefined },
  small: { ...SMALL, restarts: 2, next: buildNextVersion },
  whole: { ...WHOLE, restarts: 20, next: buildNextVersion },
  trial: rollingRestarts,
});

row(5, {
  title: "no action runs twice while instances are stopped for longer than a lease, and continued",
  missing: deploymentMissing ?? namespacesMissing,
  small: { ...SMALL, stops: 1, stoppedMs: 40_000 },
  whole: { ...WHOLE, stops: 10, stoppedMs: 40_000 },
  trial: stoppedInstances,
});

row(11, {
  title: "large files arrive whole in bounded memory; none that breaks off with a killed instance looks whole",
  missing: deploymentMissing,
  usual: downloads.SMALL,
  small: downloads.SMALL,
  whole: downloads.WHOLE,
  trial: downloads.downloadsTrial,
});

row(12, {
  title: "passes the official conformance suite through a balancer that adds a bearer token",
  missing: deploymentMissing ?? conformanceMissing,
  small: { instances: 2 },
  whole: { instances: 2 },
  trial: throughBalancer,
});
