// The rows of the table: what is tried, in how many, small and whole.

import { deploymentMissing } from "../../support/deployment.ts";
import { namespacesMissing } from "../../support/fleet.ts";
import { buildNextVersion } from "../../support/next-version.ts";
import { postgresMissing } from "../../support/postgres.ts";
import { conformanceMissing, throughBalancer } from "./conformance.ts";
import * as downloads from "./downloads.ts";
import { failedOver } from "./failovers.ts";
import { fromTests } from "./from-tests.ts";
import { killedBalancer, killedInstances, rollingRestarts, type Stops, stoppedInstances } from "./kills.ts";
import * as limits from "./limits.ts";
import { type Outcome, type Row, row } from "./row.ts";

const SMALL = { instances: 2, teams: 2, callers: 12 };
const WHOLE = { instances: 3, teams: 5, callers: 50 };
const ALL = { MIC_TEST_ALL: "1" };
const SIGN_IN = ["clients", "inspector", "claude-code", "serve"].map((name) => `test/teams/${name}.test.ts`);
const TOKENS = ["test/teams/tokens.test.ts", "test/teams/provider.test.ts"];
const SECRETS = ["test/teams/secrets.test.ts", "test/telemetry/leaks.test.ts", "test/deploy/files.test.ts"];

/** The two kinds one after the other: a process that stands still, and one that nobody hears. */
async function standstills(sizes: Stops, seed: number): Promise<Outcome> {
  const stopped = await stoppedInstances(sizes, seed);
  const cut = await fromTests({ files: ["test/teams/standstill.test.ts"], env: {} }, seed);
  const { tests = 0, passed = 0 } = cut.counts;
  return {
    counts: { ...stopped.counts, "tests of cuts": tests, "of them passed": passed },
    wrong: [...stopped.wrong, ...cut.wrong],
  };
}

export const rows: readonly Row[] = [
  row({
    number: 1,
    title: "kill -9 of instances in PID namespaces of their own, behind haproxy",
    missing: deploymentMissing ?? namespacesMissing,
    small: { ...SMALL, instances: 3, kills: 4 },
    whole: { ...WHOLE, kills: 300 },
    trial: killedInstances,
  }),
  row({
    number: 2,
    title: "kill -9 of haproxy; then two of them in turn",
    missing: deploymentMissing,
    small: { ...SMALL, kills: 6, killsOfTwo: 4 },
    whole: { ...WHOLE, kills: 100, killsOfTwo: 40 },
    trial: killedBalancer,
  }),
  row({
    number: 3,
    title: "kill -9 of the primary and promotion of its synchronous replica, sometimes cut off before",
    missing: deploymentMissing,
    small: { ...SMALL, failovers: 3 },
    whole: { ...WHOLE, failovers: 30 },
    trial: failedOver,
  }),
  row({
    number: 4,
    title: "rolling restarts under load, the last to a build with one migration more",
    missing: deploymentMissing,
    small: { ...SMALL, restarts: 2, next: buildNextVersion },
    whole: { ...WHOLE, restarts: 20, next: buildNextVersion },
    trial: rollingRestarts,
  }),
  row({
    number: 5,
    title: "instances stopped for longer than a lease, and continued; cut off from the database and from the service",
    missing: deploymentMissing ?? namespacesMissing,
    small: { ...SMALL, stops: 1, stoppedMs: 40_000 },
    whole: { ...WHOLE, stops: 10, stoppedMs: 40_000 },
    trial: standstills,
  }),
  row({
    number: 6,
    title: "isolation: whatever one caller has, tried by others of his team and of another",
    missing: postgresMissing,
    small: { files: ["test/teams/isolation.test.ts"], env: { TEAMS_PAIRS: "300" } },
    whole: { files: ["test/teams/isolation.test.ts"], env: { TEAMS_PAIRS: "10000" } },
    trial: fromTests,
  }),
  row({
    number: 7,
    title:
      "one address: cold instances asked about the whole country at once, one killed with a permit; a rest that all obey",
    missing: postgresMissing,
    small: limits.SMALL,
    whole: limits.WHOLE,
    trial: limits.limitsTrial,
  }),
  row({
    number: 8,
    title: "sign-in: real clients at a real provider, both eras, step-up",
    missing: undefined,
    small: { files: SIGN_IN, env: {} },
    whole: { files: SIGN_IN, env: ALL },
    trial: fromTests,
  }),
  row({
    number: 9,
    title: "tokens that are none, late, early, altered, foreign or huge; a provider that is down",
    missing: undefined,
    small: { files: TOKENS, env: {} },
    whole: { files: TOKENS, env: ALL },
    trial: fromTests,
  }),
  row({
    number: 10,
    title:
      "secrets: nowhere in the clear, not in what telemetry sends either; no core files; sealed anew while callers are at work",
    missing: postgresMissing,
    small: { files: SECRETS, env: {} },
    whole: { files: SECRETS, env: ALL },
    trial: fromTests,
  }),
  row({
    number: 11,
    title: "files by their links, large and many at once; the instance killed in the middle",
    missing: deploymentMissing,
    small: downloads.SMALL,
    whole: downloads.WHOLE,
    trial: downloads.downloadsTrial,
  }),
  row({
    number: 12,
    title: "the official conformance suite through a balancer that adds a bearer token",
    missing: deploymentMissing ?? conformanceMissing,
    small: { instances: 2 },
    whole: { instances: 2 },
    trial: throughBalancer,
  }),
];
