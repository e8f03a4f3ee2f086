// `npm run bench:names`: how well districts are found by the names people use, against the emulator's table.

import { readDistricts } from "../src/emulator/geography/load.ts";
import { searchNames } from "../src/geography/names/search.ts";
import { otherNames, ratesOf, spellings } from "../test/geography/name-variants.ts";

const names = readDistricts().map(({ name }) => name);
const find = (query: string) => searchNames(query, names, (name) => name).found.map(({ item }) => item);
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
