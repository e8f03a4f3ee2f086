// Runs `npm run test:mutants`: removes each safeguard in a copy of this tree and checks that its test fails. It exits with 1 and
// lists the mutants that no test detected. With `npm run test:mutants -- WORD…` it runs only mutants whose description contains
// one of the words.
import { createCopy, killAll, type SourceCopy, type TestOutcome } from "./copy.ts";
import { findPath, type Mutant, readSources } from "./mutant.ts";
import { mutants } from "./mutants.ts";

const CONCURRENCY = 2;

const startedAt = performance.now();
const print = (text: string): void => void process.stdout.write(`${text}\n`);
const elapsedSince = (beganAt: number): string => `${Math.round((performance.now() - beganAt) / 1_000)} s`;

/** Runs a task for all things, one at a time per copy. */
async function runOnCopies<T>(
  copies: readonly SourceCopy[],
  things: readonly T[],
  task: (copy: SourceCopy, thing: T) => Promise<void>,
) {
  const waiting = [...things];
  await Promise.all(
    copies.map(async (copy) => {
      for (let thing = waiting.shift(); thing !== undefined; thing = waiting.shift()) await task(copy, thing);
    }),
  );
}

/** Returns the reason why a test run shows nothing about a mutant or does not detect it; undefined if the test detected it. */
function describeProblem({ passed, failed, error }: TestOutcome): string | undefined {
  if (error !== undefined) return `was not tested: ${error}`;
  if (failed.length > 0) return undefined;
  return passed.length > 0 ? "SURVIVES" : "was not tested: no test of this name ran";
}

const root = process.cwd();
const filters = process.argv.slice(2);
const chosen = mutants.filter(({ what }) => filters.length === 0 || filters.some((filter) => what.includes(filter)));
const sources = readSources(root);
for (const mutant of chosen) findPath(mutant, sources);
let detectedCount = 0;
const problems: string[] = [];

/** Returns the mutants whose tests pass without any change. A test that fails or is skipped would show nothing. */
async function selectTestable(copies: readonly SourceCopy[]): Promise<readonly Mutant[]> {
  const passing = new Set<Mutant>();
  await runOnCopies(copies, [...new Set(chosen.map(({ killedBy }) => killedBy.file))], async (copy, file) => {
    const fileMutants = chosen.filter(({ killedBy }) => killedBy.file === file);
    const { passed, failed, error } = await copy.test(fileMutants.map(({ killedBy }) => killedBy));
    for (const mutant of fileMutants) {
      const { what, killedBy } = mutant;
      if (error === undefined && failed.length === 0 && passed.some((name) => name.includes(killedBy.name)))
        passing.add(mutant);
      else problems.push(`${what}: without it, its test does not pass: ${error ?? (failed.join("; ") || "skipped")}`);
    }
  });
  print(`The tests of ${passing.size} mutants pass without them (${elapsedSince(startedAt)}).`);
  return chosen.filter((mutant) => passing.has(mutant));
}

async function testMutant(copy: SourceCopy, mutant: Mutant): Promise<void> {
  const beganAt = performance.now();
  const tested = await copy.test([mutant.killedBy], mutant);
  const wrong = describeProblem(tested);
  if (wrong === undefined) detectedCount++;
  else problems.push(`${mutant.what}: ${wrong}`);
  print(
    `${detectedCount}/${chosen.length} ${wrong === undefined ? "seen" : "NOT SEEN"} (${elapsedSince(beganAt)}): ${mutant.what}`,
  );
}

for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => {
    killAll();
    process.exit(1);
  });

const copies = await Promise.all(Array.from({ length: CONCURRENCY }, () => createCopy(root)));
try {
  await runOnCopies(copies, await selectTestable(copies), testMutant);
} finally {
  await Promise.all(copies.map((copy) => copy.remove()));
}
for (const text of problems) print(`\n${text}`);
print(`\n${detectedCount} of ${chosen.length} mutants are seen, after ${elapsedSince(startedAt)}.`);
process.exitCode = problems.length === 0 ? 0 : 1;
