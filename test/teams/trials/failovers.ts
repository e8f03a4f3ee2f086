// Row 3: the primary is killed and its replica promoted, before callers at work; half of the time the replica is cut off before. And
// a deployment whose commits wait for nobody is not ready.
import { setTimeout as sleep } from "node:timers/promises";
import { startPostgresPair } from "../../support/postgres-pair.ts";
import { waitForMoreResults } from "./kills.ts";
import { type Outcome, type Sizes, underLoad } from "./under-load.ts";

export interface Failovers extends Sizes {
  readonly failovers: number;
}

const LOOK_EVERY_MS = 1_000;
/** An instance looks once a minute. */
const MAX_LOOKS = 90;

export async function failedOver({ failovers, ...sizes }: Failovers, seed: number): Promise<Outcome> {
  const pair = await startPostgresPair();
  try {
    const databaseUrl = await pair.database();
    return await underLoad({
      ...sizes,
      seed,
      options: { databaseUrl },
      async strike({ fleet }, chance, load) {
        for (let failover = 1; failover <= failovers; failover++) {
          await waitForMoreResults(load, 5 + chance.below(10));
          if (failover % 3 === 0) {
            await pair.cutReplicas();
            await sleep(chance.below(400));
          }
          await pair.killPrimary();
          await pair.promote();
          await waitForMoreResults(load, 5);
          await pair.join();
        }
        await pair.setSynchronous(false);
        const [instance] = fleet.instances;
        let refused = 0;
        for (let looks = 1; refused === 0 && looks <= MAX_LOOKS; looks++) {
          if (instance && !(await instance.isReady())) refused = 1;
          else await sleep(LOOK_EVERY_MS);
        }
        await pair.setSynchronous(true);
        if (refused === 0) throw new Error("an instance stays ready though no commit waits for a replica");
        return { failovers, "asynchronous refused": refused };
      },
    });
  } finally {
    await pair.stop();
  }
}
