// Renders the resource mic://geography/catalogue.tsv: coverage and vintage, then every district with its state and count of mandals.

import type { CallContext } from "../api-client/attempts.ts";
import { countPart } from "../core/counts.ts";
import { formatTable } from "../core/table.ts";
import { AGENT, join, render, say, type Text } from "../core/text.ts";
import { collectDrift, computeCoverage, summarizeVintage } from "./country.ts";
import {
  answerForAllStates,
  DISTRICT_COLUMNS,
  type DistrictRow,
  findDifferencesInStates,
  toDistrictCells,
  toDistrictRows,
} from "./districts.ts";
import { formatCoverage } from "./format.ts";
import type { Geography } from "./geography.ts";

/** Longest time that a reader of the resource waits for missing lists. */
const WAIT_MS = 20_000;
/** India has about 800 districts. A catalog with more rows than this is cut after the last state that fits. */
const MAX_ROWS = 2_000;

function truncateAtState(rows: readonly DistrictRow[]): readonly DistrictRow[] {
  const firstOmitted = rows[MAX_ROWS];
  if (firstOmitted === undefined) return rows;
  return rows.slice(
    0,
    rows.findIndex(({ stateCode }) => stateCode === firstOmitted.stateCode),
  );
}

function describeOmitted(rows: readonly DistrictRow[], shown: readonly DistrictRow[]): readonly Text[] {
  if (shown.length === rows.length) return [];
  const omitted = rows.slice(shown.length);
  const codes = [...new Set(omitted.map(({ stateCode }) => stateCode))];
  return [
    say`${countPart(omitted.length, "district")} of ${join(codes)} left out: mic://geography/states/{code}/districts has one state's.`,
  ];
}

/** Waits at most 20 s for missing lists. Throws Failure if the states list cannot be read. */
export async function renderCatalogTsv(geography: Geography, context: CallContext) {
  const query = { answer: answerForAllStates, waitMs: WAIT_MS, onProgress: () => undefined };
  const result = await geography.gather(query, context);
  const { country } = result;
  const { states } = result.answer;
  const coverage = computeCoverage(result);
  const codes = states.map(({ code }) => code);
  const vintage = summarizeVintage(country, codes);
  const notes = [formatCoverage(coverage, vintage), ...findDifferencesInStates(states, country)];
  const rows = toDistrictRows(states, country);
  const shown = truncateAtState(rows);
  const lines = [...notes, ...describeOmitted(rows, shown)].map((note) => `# ${render(note, AGENT)}`);
  const text = `${[...lines, formatTable(DISTRICT_COLUMNS, shown.map(toDistrictCells))].join("\n")}\n`;
  return { text, complete: coverage.complete, drift: collectDrift(country, codes) };
}
