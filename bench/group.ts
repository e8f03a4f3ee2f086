// A group of metrics: measured together, in interleaved rounds, and shown as one table.
import type { Figures, RunSize } from "./measure.ts";
import type { Subject } from "./subjects.ts";
import type { Column, Results } from "./table.ts";

export interface BenchContext {
  readonly subjects: readonly Subject[];
  /** Of the stub service. */
  readonly baseUrl: string;
  readonly size: RunSize;
}

export interface MetricGroup {
  readonly title: string;
  /** The subject that ratios are taken to. */
  readonly reference: string;
  readonly columns: readonly Column[];
  /** Figures that are the same each time are taken once. */
  readonly once?: true;
  /** One round; each subject in a fresh process. */
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
    // Not always in the same order: whoever comes first finds the machine cooler.
    const rotated = subjects.map((_, index) => subjects[(index + round) % subjects.length] ?? subjects[0]);
    const order = rotated.filter((subject) => subject !== undefined);
    for await (const [name, figures] of group.round({ ...bench, subjects: order }))
      results.set(name, [...(results.get(name) ?? []), figures]);
  }
  return results;
}
