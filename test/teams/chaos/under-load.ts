// Runs a deployment under load while faults are injected, and compares the results with the emulator's own execution count.
import { setTimeout as sleep } from "node:timers/promises";
import { onTestFinished } from "vitest";
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
  readonly faults: number;
}

export interface FaultPlan {
  readonly options?: Partial<DeploymentOptions>;
  /** Injects one fault, and resolves when it is over. It is called when some more calls have succeeded. `number` counts from 1. */
  readonly injectFault: (
    deployment: Deployment,
    context: { readonly chance: SeededRandom; readonly load: LoadCounts; readonly number: number },
  ) => Promise<void>;
  /** Called after the faults, under load. */
  readonly finish?: (deployment: Deployment) => Promise<void>;
  /** If true, no request may fail, not even one that the client repeats. */
  readonly allowsNoFailures?: boolean;
}

const POLL_INTERVAL_MS = 20;
const MAX_POLLS = 3_000;

/** Waits for `more` further successful calls (at most 60 s), so that a fault occurs during work and not during startup. */
export async function waitForMoreResults(load: LoadCounts, more: number): Promise<void> {
  const target = load.succeeded + more;
  for (let polls = 0; load.succeeded < target && polls < MAX_POLLS; polls++) await sleep(POLL_INTERVAL_MS);
}

/** Delays some requests, so that a fault occurs while actions are in progress. */
async function injectDelays(baseUrl: string): Promise<void> {
  const headers = { "content-type": "application/json" };
  for (let round = 1; round <= 20; round++)
    for (const delayMs of [20, 80, 40, 150]) {
      const order = { operationId: LOAD_OPERATION_ID, times: 100, fault: { kind: "delay", delayMs } };
      await fetch(`${baseUrl}/__emulator/faults`, { method: "POST", headers, body: JSON.stringify(order) });
    }
}

/** The first few reasons are enough to find the cause. */
const MAX_REASONS = 8;

export async function runUnderLoad(plan: FaultPlan, sizes: Sizes, seed: number): Promise<Outcome> {
  const { options, injectFault, finish, allowsNoFailures = false } = plan;
  const { instances, teams, callers, faults } = sizes;
  const deployment = await startDeployment({ instances, teams, ...options });
  onTestFinished(() => deployment.stop());
  const { baseUrl } = deployment.emulator;
  await injectDelays(baseUrl);
  const load = startLoad({ callers: await deployment.createCallers(callers), seed });
  const chance = createSeededRandom(seed);
  for (let number = 1; number <= faults; number++) {
    await waitForMoreResults(load.counts, 5 + chance.nextInteger(10));
    await injectFault(deployment, { chance, load: load.counts, number });
  }
  await finish?.(deployment);
  const { succeeded, timedOut, mismatched, protocolErrors, toolFailures, reasons, ...other } = await load.finish();
  const executions = await countExecutions(baseUrl, LOAD_OPERATION_ID);
  const failed = protocolErrors + toolFailures;
  const zero = {
    // An action without a reported outcome may have been executed once, or not at all.
    duplicates: Math.max(0, executions - succeeded - timedOut),
    unreported: timedOut,
    crossed: mismatched,
    lost: Math.max(0, succeeded - executions),
    ...(allowsNoFailures && { failed }),
  };
  const { calls, reads, replayed } = other;
  const repeated = { calls, reads, replayed, broken: protocolErrors, refused: toolFailures };
  return {
    counts: { faults, succeeded, executions, ...zero, ...repeated },
    failures: [
      ...Object.entries(zero).flatMap(([name, count]) => (count === 0 ? [] : [`${name}: ${count}, must be 0`])),
      ...(succeeded === 0 ? ["no call succeeded: nothing was tested"] : []),
      ...(timedOut > 0 || (allowsNoFailures && failed > 0) ? [...reasons].slice(0, MAX_REASONS) : []),
    ],
  };
}
