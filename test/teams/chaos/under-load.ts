// Runs a deployment under load while a fault is injected, and compares the results with the emulator's own execution count.
import { type Deployment, type DeploymentOptions, startDeployment } from "../../support/deployment.ts";
import { countExecutions, LOAD_OPERATION_ID, type LoadCounts, startLoad } from "../../support/load.ts";
import { createSeededRandom, type SeededRandom } from "../../support/random.ts";

export interface Outcome {
  /** Counts by name, in the order in which they are printed. */
  readonly counts: Readonly<Record<string, number | string>>;
  /** One sentence for each failure. */
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
  /** Injects the fault, resolves when it is over, and returns additional counts. */
  readonly injectFault: (
    deployment: Deployment,
    chance: SeededRandom,
    load: LoadCounts,
  ) => Promise<Readonly<Record<string, number>>>;
  /** If true, no request may fail, not even one that the client repeats. */
  readonly allowsNoFailures?: boolean;
}

const DELAYS_MS = [20, 80, 40, 150];
const ROUNDS = 20;
const TIMES = 100;

/** Delays some requests, so that a fault occurs while actions are in progress. */
async function injectDelays(baseUrl: string): Promise<void> {
  const headers = { "content-type": "application/json" };
  for (let round = 1; round <= ROUNDS; round++)
    for (const delayMs of DELAYS_MS) {
      const order = { operationId: LOAD_OPERATION_ID, times: TIMES, fault: { kind: "delay", delayMs } };
      await fetch(`${baseUrl}/__emulator/faults`, { method: "POST", headers, body: JSON.stringify(order) });
    }
}

/** The first few reasons are enough to find the cause. */
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
    // An action without a reported outcome may have been executed once, or not at all.
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
        ...(succeeded === 0 ? ["no call succeeded: nothing was tested"] : []),
        ...(timedOut > 0 || (allowsNoFailures && failed > 0) ? [...reasons].slice(0, MAX_REASONS) : []),
      ],
    };
  } finally {
    await deployment.stop();
  }
}
