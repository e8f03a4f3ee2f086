// A deployment with callers at work while something is done to it; afterwards the service's own count of what was done.
import { type Deployment, type DeploymentOptions, startDeployment } from "../../support/deployment.ts";
import { countExecutions, LOAD_OPERATION_ID, type LoadCounts, startLoad } from "../../support/load.ts";
import { createSeededRandom, type SeededRandom } from "../../support/random.ts";

export interface Outcome {
  /** By name, in the order in which they are printed. */
  readonly counts: Readonly<Record<string, number | string>>;
  /** A sentence for each failure. */
  readonly failures: readonly string[];
}

export interface Sizes {
  readonly instances: number;
  readonly teams: number;
  readonly callers: number;
}

interface ChaosTestOptions extends Sizes {
  readonly seed: number;
  readonly options?: Partial<DeploymentOptions>;
  /** What is done; resolves when that is over. Gives counts of its own. */
  readonly injectFault: (
    deployment: Deployment,
    chance: SeededRandom,
    load: LoadCounts,
  ) => Promise<Readonly<Record<string, number>>>;
  /** No request may fail, not even to be repeated. */
  readonly allowsNoFailures?: boolean;
}

const DELAYS_MS = [20, 80, 40, 150];
const ROUNDS = 20;
const TIMES = 100;

/** The service is slow now and then, so that a fault finds actions under way. */
async function injectDelays(baseUrl: string): Promise<void> {
  const headers = { "content-type": "application/json" };
  for (let round = 1; round <= ROUNDS; round++)
    for (const delayMs of DELAYS_MS) {
      const order = { operationId: LOAD_OPERATION_ID, times: TIMES, fault: { kind: "delay", delayMs } };
      await fetch(`${baseUrl}/__emulator/faults`, { method: "POST", headers, body: JSON.stringify(order) });
    }
}

/** The first few say it. */
const MAX_REASONS = 8;

export async function runUnderLoad({
  seed,
  options,
  injectFault,
  allowsNoFailures = false,
  ...sizes
}: ChaosTestOptions): Promise<Outcome> {
  const { instances, teams, callers } = sizes;
  const deployment = await startDeployment({ instances, teams, ...options });
  try {
    const { baseUrl } = deployment.emulator;
    await injectDelays(baseUrl);
    const load = startLoad({ callers: await deployment.createCallers(callers), seed });
    const faultCounts = await injectFault(deployment, createSeededRandom(seed), load.counts);
    const { succeeded, timedOut, mismatched, protocolErrors, toolFailures, calls, reads, replayed, reasons } =
      await load.finish();
    const executions = await countExecutions(baseUrl, LOAD_OPERATION_ID);
    // An untold wish may have been done once, and need not.
    const duplicates = Math.max(0, executions - succeeded - timedOut);
    const lostActions = Math.max(0, succeeded - executions);
    const failed = protocolErrors + toolFailures;
    const zero = {
      duplicates,
      unreported: timedOut,
      crossed: mismatched,
      lost: lostActions,
      ...(allowsNoFailures && { failed }),
    };
    return {
      counts: {
        ...faultCounts,
        succeeded,
        executions,
        duplicates,
        unreported: timedOut,
        crossed: mismatched,
        calls,
        reads,
        replayed,
        broken: protocolErrors,
        refused: toolFailures,
      },
      failures: [
        ...Object.entries(zero).flatMap(([name, count]) => (count === 0 ? [] : [`${name}: ${count}, must be 0`])),
        ...(succeeded === 0 ? ["nothing was told: nothing was tried"] : []),
        ...(timedOut > 0 || (allowsNoFailures && failed > 0) ? [...reasons].slice(0, MAX_REASONS) : []),
      ],
    };
  } finally {
    await deployment.stop();
  }
}
