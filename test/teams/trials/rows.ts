// The rows of the table: what is tried, in how many, small and whole.

import { deploymentMissing } from "../../support/deployment.ts";
import { namespacesMissing } from "../../support/fleet.ts";
import { buildNextVersion } from "../../support/next-version.ts";
import { postgresMissing } from "../../support/postgres.ts";
import { conformanceMissing, throughBalancer } from "./conformance.ts";
import * as downloads from "./downloads.ts";
import { killedBalancer, killedInstances, rollingRestarts, stoppedInstances } from "./kills.ts";
import * as limits from "./limits.ts";
import { type Row, row } from "./row.ts";

const SMALL = { instances: 2, teams: 2, callers: 12 };
const WHOLE = { instances: 3, teams: 5, callers: 50 };

export const rows: readonly Row[] = [
  row({
    number: 1,
    title: "kill -9 of instances in PID namespaces of their own, behind haproxy",
    missing: deploymentMissing ?? namespacesMissing,
    small: { ...SMALL, instances: 3, kills: 6 },
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
    number: 4,
    title: "rolling restarts under load, the last to a build with one migration more",
    missing: deploymentMissing,
    small: { ...SMALL, restarts: 2, next: buildNextVersion },
    whole: { ...WHOLE, restarts: 20, next: buildNextVersion },
    trial: rollingRestarts,
  }),
  row({
    number: 5,
    title: "instances stopped for longer than a lease, and continued",
    missing: deploymentMissing ?? namespacesMissing,
    small: { ...SMALL, stops: 1, stoppedMs: 40_000 },
    whole: { ...WHOLE, stops: 10, stoppedMs: 40_000 },
    trial: stoppedInstances,
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
    number: 11,
    title: "files by their links, large and many at once; the instance killed in the middle",
    missing: undefined,
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
