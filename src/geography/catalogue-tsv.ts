// mic://geography/catalogue.tsv: every district with its state and count, coverage and vintage on top.
import type { CallContext } from "../api-client/attempts.ts";
import { formatTable } from "../core/table.ts";
import { coverageOf, driftIn } from "./country.ts";
import {
  DISTRICT_COLUMNS,
  type DistrictRow,
  differencesIn,
  districtCells,
  districtRows,
  needsForAll,
} from "./districts.ts";
import { coverageLine, plural } from "./format.ts";
import type { Geography } from "./geography.ts";
import { vintageOf } from "./vintage.ts";

/** How long a reader of the resource waits for what is not there yet. */
const WAIT_MS = 20_000;
/** India has some 800 districts; of a catalogue many times as large a reader gets whole states up to this. */
const MAX_ROWS = 2_000;

export interface CatalogueText {
  readonly text: string;
  /** Nothing is missing. */
  readonly complete: boolean;
  readonly drift: readonly string[];
}

/** Rows are cut between two states. */
function firstStates(rows: readonly DistrictRow[]): readonly DistrictRow[] {
  const cut = rows[MAX_ROWS];
  if (cut === undefined) return rows;
  return rows.slice(
    0,
    rows.findIndex(({ stateCode }) => stateCode === cut.stateCode),
  );
}

/** What was left out, and how to have it. */
function leftText(rows: readonly DistrictRow[], shown: readonly DistrictRow[]): readonly string[] {
  if (shown.length === rows.length) return [];
  const left = rows.slice(shown.length);
  const codes = [...new Set(left.map(({ stateCode }) => stateCode))];
  return [
    `${plural(left.length, "district")} of ${codes.join(" ")} left out: mic://geography/states/{code}/districts has one state's; rank_divisions with saveAs saves all.`,
  ];
}

/** Throws Failure when not even the states can be read. */
export async function catalogueTsv(geography: Geography, context: CallContext): Promise<CatalogueText> {
  const gathered = await geography.gather(
    {
      about: ({ states }) => states.value.states,
      needs: (country) => needsForAll(country.states.value.states, country),
      notNeeded: "",
      waitMs: WAIT_MS,
      onProgress: () => undefined,
    },
    context,
  );
  const { country } = gathered;
  const states = country.states.value.states;
  const coverage = coverageOf(states, gathered);
  const codes = states.map(({ code }) => code);
  const vintage = vintageOf(country, codes);
  const notes = [coverageLine(coverage, vintage), ...differencesIn(states, country)];
  const rows = districtRows(states, country);
  const shown = firstStates(rows);
  const lines = [...notes, ...leftText(rows, shown)].map((note) => `# ${note}`);
  const text = `${[...lines, formatTable(DISTRICT_COLUMNS, shown.map(districtCells))].join("\n")}\n`;
  return { text, complete: coverage.complete, drift: driftIn(country, codes) };
}
