// Runs `npm run test:mutants`: removes each safeguard in a copy of this tree and checks that its test fails. It exits with 1 and
// lists the mutants that no test detected. With `npm run test:mutants -- WORD…` it runs only mutants whose description contains
// one of the words.
import { existsSync, readFileSync } from "node:fs";
import { createCopy, type SourceCopy, stopping } from "./copy.ts";
import { applyMutant, type Mutant, mutants, readSources } from "./mutants.ts";

const CONCURRENCY = 2;

const startedAt = performance.now();
const print = (text: string): void => void process.stdout.write(`${text}\n`);
const elapsedSince = (beganAt: number): string => `${Math.round((performance.now() - beganAt) / 1_000)} s`;

const filters = process.argv.slice(2);
const chosen = mutants.filter(({ what }) => filters.length === 0 || filters.some((filter) => what.includes(filter)));
const sources = readSources(".");
let detectedCount = 0;
const problems: string[] = [];

/** Constants of JavaScript and values of database settings. */
const CONSTANTS = new Set(["true", "false", "off", "NORMAL"]);

/** Finds the names that a replacement uses without a definition in its file: such a mutant only crashes. */
function findUndefinedNames(replacement: string, file: string): string[] {
  const names = replacement.replace(/"[^"]*"|'[^']*'/g, "").match(/(?<![\w.$])[a-z]\w*/gi) ?? [];
  return names.filter(
    (name) => !CONSTANTS.has(name) && !(name in globalThis) && !new RegExp(`\\b${name}\\b`).test(file),
  );
}

function findMismatch({ what, replacement, killedBy, ...mutant }: Mutant): string | undefined {
  if (mutants.filter((other) => other.what === what).length > 1) return "another mutant has this description";
  if (!existsSync(killedBy.file)) return `there is no ${killedBy.file}`;
  try {
    const { path, text } = applyMutant({ what, replacement, killedBy, ...mutant }, sources);
    const before = readFileSync(path, "utf8");
    if (text === before) return "it changes nothing";
    const names = findUndefinedNames(replacement, before);
    return names.length > 0 ? `${path} does not define ${names.join(", ")}` : undefined;
  } catch (error) {
    return String(error);
  }
}

// All mutants must apply, also those that are not chosen.
const mismatches = mutants.flatMap((mutant) => {
  const mismatch = findMismatch(mutant);
  return mismatch === undefined ? [] : [`${mutant.what}: ${mismatch}`];
});
if (mismatches.length > 0) {
  print(mismatches.join("\n"));
  process.exit(1);
}

/** Adds a problem if the test does not detect the mutant or shows nothing about it. */
async function testMutant(copy: SourceCopy, mutant: Mutant): Promise<void> {
  const beganAt = performance.now();
  const { passed, failed, error } = await copy.test([mutant.killedBy], mutant);
  const isSeen = error === undefined && failed.length > 0;
  const wrong = error ?? (passed.length > 0 ? "it SURVIVES" : "no test of this name ran");
  if (isSeen) detectedCount++;
  else problems.push(`${mutant.what}: ${wrong}`);
  const [progress, verdict] = [`${detectedCount}/${chosen.length}`, isSeen ? "seen" : "NOT SEEN"];
  print(`${progress} ${verdict} (${elapsedSince(beganAt)}): ${mutant.what}`);
}

/** Tests the mutants of a file whose tests pass without any change. A test that fails or is skipped would show nothing. */
async function testFile(copy: SourceCopy, file: string): Promise<void> {
  const fileMutants = chosen.filter(({ killedBy }) => killedBy.file === file);
  const { passed, failed, error } = await copy.test(fileMutants.map(({ killedBy }) => killedBy));
  for (const mutant of fileMutants)
    if (error === undefined && failed.length === 0 && passed.some((name) => name.includes(mutant.killedBy.name)))
      await testMutant(copy, mutant);
    else
      problems.push(`${mutant.what}: without it, its test does not pass: ${error ?? (failed.join("; ") || "skipped")}`);
}

for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => {
    stopping.abort();
    process.exit(1);
  });

const files = [...new Set(chosen.map(({ killedBy }) => killedBy.file))];
const copies = await Promise.all(Array.from({ length: CONCURRENCY }, () => createCopy()));
try {
  await Promise.all(
    copies.map(async (copy) => {
      for (let file = files.shift(); file !== undefined; file = files.shift()) await testFile(copy, file);
    }),
  );
} finally {
  await Promise.all(copies.map((copy) => copy.remove()));
}
for (const text of problems) print(`\n${text}`);
print(`\n${detectedCount} of ${chosen.length} mutants are seen, after ${elapsedSince(startedAt)}.`);
process.exitCode = problems.length === 0 ? 0 : 1;
