// What a trial is: it brings its faults about, counts, and says what must not have been.

/** Counts by name, in the order in which they are printed. */
export type Counts = Readonly<Record<string, number | string>>;

export interface Outcome {
  readonly counts: Counts;
  /** What is wrong, a sentence each; none: it passed. */
  readonly wrong: readonly string[];
}

export type Size = "small" | "whole";

export interface Row {
  readonly number: number;
  readonly title: string;
  /** Why it cannot be tried here. */
  readonly missing: string | undefined;
  run(size: Size, seed: number): Promise<Outcome>;
}

interface RowOf<P> extends Omit<Row, "run"> {
  readonly small: P;
  readonly whole: P;
  readonly trial: (sizes: P, seed: number) => Promise<Outcome>;
}

export const row = <P>({ small, whole, trial, ...about }: RowOf<P>): Row => ({
  ...about,
  run: (size, seed) => trial(size === "whole" ? whole : small, seed),
});

/** A count that must be 0, told by its name. */
export const mustBeZero = (counts: Readonly<Record<string, number>>): readonly string[] =>
  Object.entries(counts).flatMap(([name, count]) => (count === 0 ? [] : [`${name}: ${count}, must be 0`]));
