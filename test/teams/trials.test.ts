// The trials of killed and restarted instances in the numbers that a developer waits for; more of them: npm run teams:trials.
import { expect, test } from "vitest";
import { deploymentMissing } from "../support/deployment.ts";
import { namespacesMissing } from "../support/fleet.ts";
import { runs } from "../support/thorough.ts";
import { killedInstances, rollingRestarts } from "./trials/kills.ts";

const SEED = Number(process.env["FAULT_SEED"] ?? Math.floor(Math.random() * 1_000_000));
const patient = { timeout: 300_000 };
const skipped = (why: string | undefined): string => (why === undefined ? "" : ` (skipped: ${why})`);
const SIZES = { instances: 2, teams: 2, callers: 6 };

const noKills = deploymentMissing ?? namespacesMissing;
test.skipIf(noKills !== undefined)(
  `killed instances: nothing is done twice, and everybody is told (seed ${SEED})${skipped(noKills)}`,
  patient,
  async () => {
    const { counts, wrong } = await killedInstances({ ...SIZES, kills: runs(2, 6) }, SEED);
    expect(wrong, JSON.stringify(counts)).toEqual([]);
  },
);

test.skipIf(deploymentMissing !== undefined)(
  `a rolling restart fails no request (seed ${SEED})${skipped(deploymentMissing)}`,
  patient,
  async () => {
    const { counts, wrong } = await rollingRestarts({ ...SIZES, restarts: 1, next: undefined }, SEED);
    expect(wrong, JSON.stringify(counts)).toEqual([]);
  },
);
