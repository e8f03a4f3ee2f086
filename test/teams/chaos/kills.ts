// Rows 1, 2 and 4 kill instances, kill the balancer, and restart instances in turn. Row 5 stops instances for longer than their
// lease and then continues them.
import { setTimeout as sleep } from "node:timers/promises";
import type { LoadCounts } from "../../support/load.ts";
import type { NextVersion } from "../../support/next-version.ts";
import { type Outcome, runUnderLoad, type Sizes } from "./under-load.ts";

/** Waits for `more` further successful calls (at most 60 s), so that the fault occurs during work and not during startup. */
export async function waitForMoreResults(load: LoadCounts, more: number): Promise<void> {
  const target = load.succeeded + more;
  for (let polls = 0; load.succeeded < target && polls < MAX_POLLS; polls++) await sleep(POLL_INTERVAL_MS);
}
const POLL_INTERVAL_MS = 20;
const MAX_POLLS = 3_000;

export interface KillOptions extends Sizes {
  readonly kills: number;
}

export const killInstances = ({ kills, ...sizes }: KillOptions, seed: number): Promise<Outcome> =>
  runUnderLoad({
    ...sizes,
    seed,
    options: { isolated: true },
    async injectFault({ fleet }, chance, load) {
      for (let kill = 1; kill <= kills; kill++) {
        await waitForMoreResults(load, 5 + chance.nextInteger(10));
        const victim = chance.pick(fleet.instances);
        await victim.kill();
        await victim.start();
      }
      return { kills };
    },
  });

export const killBalancers = ({ kills, ...sizes }: KillOptions, seed: number): Promise<Outcome> =>
  runUnderLoad({
    ...sizes,
    seed,
    async injectFault({ balancer }, chance, load) {
      for (let kill = 1; kill <= kills; kill++) {
        await waitForMoreResults(load, 5 + chance.nextInteger(10));
        await balancer.kill();
        await balancer.start();
      }
      return { kills };
    },
  });

export interface RestartOptions extends Sizes {
  readonly restarts: number;
  /** Builds a version with one more migration; the last restart starts its entry. */
  readonly next: (() => Promise<NextVersion>) | undefined;
}

/** Restarts all instances in turn, as the rollout of a new version does. */
export const restartInstances = ({ restarts, next, ...sizes }: RestartOptions, seed: number): Promise<Outcome> =>
  runUnderLoad({
    ...sizes,
    seed,
    allowsNoFailures: true,
    // In seconds: longer than the balancer needs to detect it (`inter` x `fall`).
    options: { env: { MIC_DRAIN_DELAY_SECONDS: "4" } },
    async injectFault({ fleet }, _chance, load) {
      const version = await next?.();
      try {
        for (let restart = 1; restart <= restarts; restart++)
          for (const instance of fleet.instances) {
            await waitForMoreResults(load, 5);
            await instance.terminate();
            await instance.start(restart === restarts ? version?.entry : undefined);
            // The balancer must detect the restarted instance before the next one stops.
            await sleep(BALANCER_CHECK_MS);
          }
        return { restarts, "to a build with one migration more": version ? 1 : 0 };
      } finally {
        await version?.remove();
      }
    },
  });
const BALANCER_CHECK_MS = 2_500;

export interface StopOptions extends Sizes {
  readonly stops: number;
  /** Must exceed the lease of 30 s. */
  readonly stoppedMs: number;
}

export const stopInstances = ({ stops, stoppedMs, ...sizes }: StopOptions, seed: number): Promise<Outcome> =>
  runUnderLoad({
    ...sizes,
    seed,
    options: { isolated: true },
    async injectFault({ fleet }, chance, load) {
      for (let stop = 1; stop <= stops; stop++) {
        await waitForMoreResults(load, 5 + chance.nextInteger(10));
        const victim = chance.pick(fleet.instances);
        victim.signal("SIGSTOP");
        await sleep(stoppedMs);
        victim.signal("SIGCONT");
      }
      return { stops };
    },
  });
