// Row 3: kills the primary and promotes its replica while callers work. In every third failover the replica is disconnected
// first. Then it checks that an instance is not ready while commits wait for no replica.
import { setTimeout as sleep } from "node:timers/promises";
import { startPostgresPair } from "../../support/postgres-pair.ts";
import { waitForMoreResults } from "./kills.ts";
import { type Outcome, runUnderLoad, type Sizes } from "./under-load.ts";

export interface FailoverOptions extends Sizes {
  readonly failovers: number;
}

const POLL_INTERVAL_MS = 1_000;
/** In polls of 1 s. An instance checks the replication once a minute. */
const MAX_POLLS = 90;

export async function failOverPrimary({ failovers, ...sizes }: FailoverOptions, seed: number): Promise<Outcome> {
  const pair = await startPostgresPair();
  try {
    const databaseUrl = await pair.createDatabase();
    return await runUnderLoad({
      ...sizes,
      seed,
      options: { databaseUrl },
      async injectFault({ fleet }, chance, load) {
        for (let failover = 1; failover <= failovers; failover++) {
          await waitForMoreResults(load, 5 + chance.nextInteger(10));
          if (failover % 3 === 0) {
            await pair.cutReplicas();
            await sleep(chance.nextInteger(400));
          }
          await pair.killPrimary();
          await pair.promote();
          await waitForMoreResults(load, 5);
          await pair.rejoinReplicas();
        }
        await pair.setSynchronous(false);
        const [instance] = fleet.instances;
        let notReadyCount = 0;
        for (let polls = 1; notReadyCount === 0 && polls <= MAX_POLLS; polls++) {
          if (instance && !(await instance.isReady())) notReadyCount = 1;
          else await sleep(POLL_INTERVAL_MS);
        }
        await pair.setSynchronous(true);
        if (notReadyCount === 0) throw new Error("an instance stays ready though no commit waits for a replica");
        return { failovers, "asynchronous refused": notReadyCount };
      },
    });
  } finally {
    await pair.stop();
  }
}
