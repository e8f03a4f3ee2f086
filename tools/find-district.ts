import * as z from "zod/v4";
import { type FoundDistrict, findDistricts, needsForFinding } from "../src/geography/find.ts";
import { alignedTable, plural } from "../src/geography/format.ts";
import { resolveStates } from "../src/geography/names/state.ts";
import { quote, word } from "../src/outside.ts";
import { askCountry, type GeographyTail, sweepSeconds } from "../src/toolkit/country.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { wholeResult } from "../src/toolkit/results.ts";

interface FoundAnswer extends GeographyTail {
  readonly query: string;
  readonly matches: readonly FoundDistrict[];
  readonly ambiguous: boolean;
}

const DEFAULT_LIMIT = 5;

export const findDistrict = defineTool({
  toolset: "geography",
  name: "find_district",
  title: "Find a district",
  description:
    "Districts of India by name, former name or misspelling, with state and mandals. If ambiguous, give all.",
  effect: "read",
  input: z.strictObject({
    name: z.string().trim().min(2).max(80),
    state: z.string().max(80).describe("Code or name.").optional(),
    limit: z.int().min(1).max(20).describe("Default 5.").optional(),
    waitSeconds: sweepSeconds,
  }),
  output: outputs.whole<FoundAnswer>({
    query: outputs.text,
    matches: outputs.objects,
    ambiguous: outputs.boolean,
    coverage: outputs.object,
    vintage: outputs.object,
  }),
  async run({ name, state, limit = DEFAULT_LIMIT, waitSeconds }, call, ports) {
    const { country, states, tail, line, forTheRest, complete, drift } = await askCountry(
      {
        level: "district",
        about: (all) => resolveStates(state === undefined ? undefined : [state], all),
        needs: (about, country) => needsForFinding(name, about, country),
        notNeeded: "not asked for",
        waitSeconds,
      },
      call,
      ports,
    );
    const { matches, ambiguous, left } = findDistricts(name, states, country, limit);
    const where = states.length === 1 && states[0] ? ` in ${word(states[0].name)} (${states[0].code})` : "";
    const asked = quote(name);
    const none = complete
      ? `No district like ${asked}${where}: every list was read.`
      : `No district like ${asked}${where} in the lists read so far.${forTheRest}`;
    const some = `${plural(matches.length, "district")} for ${asked}${where}${left > 0 ? `, and ${left} less like it` : ""}.`;
    const doubt = ambiguous ? " Ambiguous: more than one may be meant." : "";
    const rows = matches.map((row) => [
      row.name,
      row.stateName,
      row.stateCode,
      row.mandalCount,
      row.districtCode,
      row.match,
      row.score,
    ]);
    const columns = ["district", "state", "", "mandals", "code", "match", "score"];
    const found = matches.length === 0 ? none : `${some}${doubt}\n${alignedTable(columns, rows)}`;
    return wholeResult({ query: name, matches, ambiguous, ...tail }, { text: `${found}\n${line}`, drift });
  },
});
