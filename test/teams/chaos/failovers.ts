// Row 3: kills the primary and promotes its replica while callers work. In every third failover the replica is disconnected
// first. Then it checks that an instance is not ready while commits wait for no replica.
import { setTimeout as sleep } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { startPostgresPair } from "../../support/postgres-pair.ts";
import { type FaultPlan, type Outcome, runUnderLoad, type Sizes, waitForMoreResults } from "./under-load.ts";

/** In polls of 1 s. An instance checks the replication once a minute. */
const MAX_POLLS = 90;

export async function failOverPrimary(sizes: Sizes, seed: number): Promise<Outcome> {
  const pair = await startPostgresPair();
  onTestFinished(() => pair.stop());
  const plan: FaultPlan = {
    options: { databaseUrl: await pair.createDatabase() },
    async injectFault(_deployment, { chance, load, number }) {
      if (number % 3 === 0) {
        await pair.cutReplicas();
        await sleep(chance.nextInteger(400));
      }
      await pair.killPrimary();
      await pair.promote();
      await waitForMoreResults(load, 5);
      await pair.rejoinReplicas();
    },
    async finish({ fleet }) {
      await pair.setSynchronous(false);
      for (let polls = 1; await fleet.instances[0]?.isReady(); polls++) {
        if (polls > MAX_POLLS) throw new Error("an instance stays ready though no commit waits for a replica");
        await sleep(1_000);
      }
      await pair.setSynchronous(true);
    },
  };
  return await runUnderLoad(plan, sizes, seed);
}
