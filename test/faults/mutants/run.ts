// `npm run test:mutants`: takes each safeguard away, in a copy of this tree, and sees to it that its test fails. Exits with 1 and
// names those that nothing saw. `npm run test:mutants -- WORD…`: only those whose description has one of these words.
import { readFile, writeFile } from "node:fs/promises";
import { type Copy, killAll, makeCopy, type Tested } from "./copy.ts";
import { type Mutant, placeOf, readSources } from "./mutant.ts";
import { mutants } from "./mutants.ts";
import { README, type Row, rowOf, writeTable } from "./table.ts";

const AT_ONCE = 2;

const startedAt = performance.now();
const print = (text: string): void => void process.stdout.write(`${text}\n`);
const since = (beganAt: number): string => `${Math.round((performance.now() - beganAt) / 1_000)} s`;

/** Does one after the other of these, in as many copies as there are. */
async function each<T>(copies: readonly Copy[], things: readonly T[], work: (copy: Copy, thing: T) => Promise<void>) {
  const waiting = [...things];
  await Promise.all(
    copies.map(async (copy) => {
      for (let thing = waiting.shift(); thing !== undefined; thing = waiting.shift()) await work(copy, thing);
    }),
  );
}

/** Why a test that failed, or none that did, says nothing about a mutant; undefined when it has seen it. */
function complaint({ passed, failed, trouble }: Tested): string | undefined {
  if (trouble !== undefined) return `was not tested: ${trouble}`;
  if (failed.length > 0) return undefined;
  return passed.length > 0 ? "SURVIVES" : "was not tested: no test of this name ran";
}

const root = process.cwd();
const filters = process.argv.slice(2);
const chosen = mutants.filter(({ what }) => filters.length === 0 || filters.some((filter) => what.includes(filter)));
const sources = readSources(root);
const places = new Map(chosen.map((mutant) => [mutant, placeOf(mutant, sources)]));
const rows = new Map<Mutant, Row>();
const complaints: string[] = [];

/** A test that fails or is skipped without any change would say nothing: gives the mutants whose tests pass. */
async function testable(copies: readonly Copy[]): Promise<readonly Mutant[]> {
  const passing = new Set<Mutant>();
  await each(copies, [...new Set(chosen.map(({ seenBy }) => seenBy.file))], async (copy, file) => {
    const ofFile = chosen.filter(({ seenBy }) => seenBy.file === file);
    const { passed, failed, trouble } = await copy.test(ofFile.map(({ seenBy }) => seenBy));
    for (const mutant of ofFile) {
      const { what, seenBy } = mutant;
      if (trouble === undefined && failed.length === 0 && passed.some((name) => name.includes(seenBy.name)))
        passing.add(mutant);
      else
        complaints.push(`${what}: without it, its test does not pass: ${trouble ?? (failed.join("; ") || "skipped")}`);
    }
  });
  print(`The tests of ${passing.size} mutants pass without them (${since(startedAt)}).`);
  return chosen.filter((mutant) => passing.has(mutant));
}

async function tryOut(copy: Copy, mutant: Mutant): Promise<void> {
  const beganAt = performance.now();
  const tested = await copy.test([mutant.seenBy], mutant);
  const wrong = complaint(tested);
  if (wrong === undefined) rows.set(mutant, rowOf(mutant, places.get(mutant) ?? "", tested.failed.join("; ")));
  else complaints.push(`${mutant.what}: ${wrong}`);
  print(
    `${rows.size}/${chosen.length} ${wrong === undefined ? "seen" : "NOT SEEN"} (${since(beganAt)}): ${mutant.what}`,
  );
}

for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => {
    killAll();
    process.exit(1);
  });

const copies = await Promise.all(Array.from({ length: AT_ONCE }, () => makeCopy(root)));
try {
  await each(copies, await testable(copies), tryOut);
} finally {
  await Promise.all(copies.map((copy) => copy.remove()));
}
for (const text of complaints) print(`\n${text}`);
print(`\n${rows.size} of ${chosen.length} mutants are seen, after ${since(startedAt)}.`);
process.exitCode = complaints.length === 0 ? 0 : 1;
if (filters.length === 0 && complaints.length === 0) {
  const made = mutants.flatMap((mutant) => rows.get(mutant) ?? []);
  await writeFile(README, writeTable(await readFile(README, "utf8"), made));
  print(`${README} has the table.`);
}
