// mic://geography/catalogue.tsv: every district with its state and count, coverage and vintage on top.
import type { CallContext } from "../service/attempts.ts";
import { table } from "../table.ts";
import { differencesIn } from "./consistency.ts";
import { coverageOf, driftIn } from "./country.ts";
import { DISTRICT_COLUMNS, districtCells, districtRows, needsForAll } from "./districts.ts";
import { coverageLine } from "./format.ts";
import type { Geography } from "./geography.ts";
import { vintageOf } from "./vintage.ts";

/** How long a reader of the resource waits for what is not there yet. */
const WAIT_MS = 20_000;

export interface CatalogueText {
  readonly text: string;
  /** Nothing is missing. */
  readonly complete: boolean;
  readonly drift: readonly string[];
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
  const rows = table(DISTRICT_COLUMNS, districtRows(states, country).map(districtCells));
  const text = `${[...notes.map((note) => `# ${note}`), rows].join("\n")}\n`;
  return { text, complete: coverage.complete, drift: driftIn(country, codes) };
}
