// mic://geography/catalogue.tsv: every district with its state and count, coverage and vintage on top.
import type { CallContext } from "../api-client/attempts.ts";
import { formatTable } from "../core/table.ts";
import { collectDrift, computeCoverage } from "./country.ts";
import {
  DISTRICT_COLUMNS,
  type DistrictRow,
  findDifferencesInStates,
  requiredListsForAll,
  toDistrictCells,
  toDistrictRows,
} from "./districts.ts";
import { formatCoverage, pluralize } from "./format.ts";
import type { Geography } from "./geography.ts";
import { summarizeVintage } from "./vintage.ts";

/** How long a reader of the resource waits for what is not there yet. */
const WAIT_MS = 20_000;
/** India has some 800 districts; of a catalogue many times as large a reader gets whole states up to this. */
const MAX_ROWS = 2_000;

export interface CatalogTsv {
  readonly text: string;
  /** Nothing is missing. */
  readonly complete: boolean;
  readonly drift: readonly string[];
}

/** Rows are cut between two states. */
function truncateAtState(rows: readonly DistrictRow[]): readonly DistrictRow[] {
  const firstOmitted = rows[MAX_ROWS];
  if (firstOmitted === undefined) return rows;
  return rows.slice(
    0,
    rows.findIndex(({ stateCode }) => stateCode === firstOmitted.stateCode),
  );
}

/** What was left out, and how to have it. */
function describeOmitted(rows: readonly DistrictRow[], shown: readonly DistrictRow[]): readonly string[] {
  if (shown.length === rows.length) return [];
  const omitted = rows.slice(shown.length);
  const codes = [...new Set(omitted.map(({ stateCode }) => stateCode))];
  return [
    `${pluralize(omitted.length, "district")} of ${codes.join(" ")} left out: mic://geography/states/{code}/districts has one state's; rank_divisions with saveAs saves all.`,
  ];
}

/** Throws Failure when not even the states can be read. */
export async function renderCatalogTsv(geography: Geography, context: CallContext): Promise<CatalogTsv> {
  const result = await geography.gather(
    {
      selectStates: ({ states }) => states.value.states,
      requiredLists: (country) => requiredListsForAll(country.states.value.states, country),
      notNeeded: "",
      waitMs: WAIT_MS,
      onProgress: () => undefined,
    },
    context,
  );
  const { country } = result;
  const states = country.states.value.states;
  const coverage = computeCoverage(states, result);
  const codes = states.map(({ code }) => code);
  const vintage = summarizeVintage(country, codes);
  const notes = [formatCoverage(coverage, vintage), ...findDifferencesInStates(states, country)];
  const rows = toDistrictRows(states, country);
  const shown = truncateAtState(rows);
  const lines = [...notes, ...describeOmitted(rows, shown)].map((note) => `# ${note}`);
  const text = `${[...lines, formatTable(DISTRICT_COLUMNS, shown.map(toDistrictCells))].join("\n")}\n`;
  return { text, complete: coverage.complete, drift: collectDrift(country, codes) };
}
