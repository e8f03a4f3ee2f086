// Defines a group of metrics: it is measured in interleaved rounds and shown as one table.
import type { Figures, RunSize } from "./measure.ts";
import type { Subject } from "./subjects.ts";
import type { Column, Results } from "./table.ts";

export interface BenchContext {
  readonly subjects: readonly Subject[];
  /** URL of the stub service. */
  readonly baseUrl: string;
  readonly size: RunSize;
}

export interface MetricGroup {
  readonly title: string;
  /** Name of the subject that ratios are relative to. */
  readonly reference: string;
  readonly columns: readonly Column[];
  /** Set if the figures are the same in each round, so that one round is enough. */
  readonly once?: true;
  /** Measures one round, with a fresh process for each subject. */
  round(bench: BenchContext): AsyncIterable<readonly [name: string, figures: Figures]>;
}

export async function measureGroup(
  group: MetricGroup,
  bench: BenchContext,
  logProgress: (text: string) => void,
): Promise<Results> {
  const results = new Map<string, Figures[]>();
  const { subjects, size } = bench;
  const rounds = group.once ? 1 : size.rounds;
  for (let round = 0; round < rounds; round++) {
    logProgress(`${group.title}: round ${round + 1} of ${rounds}`);
    // The order rotates, because the first subject runs on a cooler machine.
    const rotated = subjects.map((_, index) => subjects[(index + round) % subjects.length] ?? subjects[0]);
    const order = rotated.filter((subject) => subject !== undefined);
    for await (const [name, figures] of group.round({ ...bench, subjects: order }))
      results.set(name, [...(results.get(name) ?? []), figures]);
  }
  return results;
}
