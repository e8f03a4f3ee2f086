// `npm run bench:names`: how well districts are found by the names people use, against the emulator's table.

import { findDistricts } from "../src/geography/find.ts";
import { knownCountry } from "../test/geography/known-country.ts";
import { otherNames, ratesOf, spellings } from "../test/geography/name-variants.ts";

const country = knownCountry();
const find = (query: string) =>
  findDistricts([query], country.states.value.states, country, 20).flatMap(({ answer }) =>
    answer.matches.map(({ name }) => name),
  );
const percent = (part: number, whole: number): string => `${((100 * part) / whole).toFixed(1)} %`;

for (const [title, variants] of [
  ["spellings", spellings],
  ["other names", otherNames],
  ["all", [...spellings, ...otherNames]],
] as const) {
  const startedAt = performance.now();
  const { queries, top1, top5, misses } = ratesOf(variants, find);
  const msPerQuery = (performance.now() - startedAt) / queries;
  process.stdout.write(
    `${title}: ${queries} queries, top 1 ${percent(top1, queries)}, top 5 ${percent(top5, queries)}, ${msPerQuery.toFixed(1)} ms each\n`,
  );
  if (title === "all") for (const miss of misses) process.stdout.write(`  ${miss}\n`);
}
