// `npm run teams:trials`: what must be shown of a deployment for teams, row by row, with its counts.
//   -- --whole: in the numbers of the table, which takes an hour; -- 1 4: these rows alone; -- --seed N: the same chances again.
import { parseArgs } from "node:util";
import type { Counts, Outcome, Row, Size } from "./row.ts";
import { rows } from "./rows.ts";

const say = (text: string): void => void process.stdout.write(`${text}\n`);
const line = (counts: Counts): string =>
  Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(", ");

const { values, positionals } = parseArgs({
  options: { whole: { type: "boolean", default: false }, seed: { type: "string" } },
  allowPositionals: true,
});
const size: Size = values.whole ? "whole" : "small";
const seed = values.seed === undefined ? Math.floor(Math.random() * 1_000_000) : Number(values.seed);
const asked = positionals.map(Number);
const unknown = asked.filter((number) => !rows.some((row) => row.number === number));
if (unknown.length > 0 || !Number.isInteger(seed)) {
  say(`Rows: ${rows.map(({ number }) => number).join(", ")}; --seed takes a whole number.`);
  process.exit(2);
}

async function tried(row: Row): Promise<Outcome> {
  try {
    return await row.run(size, seed);
  } catch (error) {
    return { counts: {}, wrong: [error instanceof Error ? (error.stack ?? error.message) : String(error)] };
  }
}

let [passed, failed, skipped] = [0, 0, 0];
for (const row of rows.filter(({ number }) => asked.length === 0 || asked.includes(number))) {
  say(`\nRow ${row.number}: ${row.title} (${size}, seed ${seed})`);
  if (row.missing !== undefined) {
    skipped += 1;
    say(`  skipped: ${row.missing}`);
    continue;
  }
  const startedAt = performance.now();
  const { counts, wrong } = await tried(row);
  if (wrong.length === 0) passed += 1;
  else failed += 1;
  say(`  ${line(counts)}`);
  for (const each of wrong) say(`  WRONG: ${each}`);
  say(`  ${wrong.length === 0 ? "passed" : "FAILED"} in ${Math.round((performance.now() - startedAt) / 1000)} s`);
}
say(`\n${passed} passed, ${failed} failed${skipped === 0 ? "" : ` (${skipped} skipped)`}`);
process.exit(failed === 0 ? 0 : 1);
