// Reads the tables of states and districts, and builds the playground's answers from them. The bundle contains the tables next to the
// chunk, so their relative URL is the same.
import { type DistrictsResponse, PLAYGROUND_CONTRACT } from "../../contract/playground.ts";
import { readTable } from "../../core/package-files.ts";

export type DistrictFacts = ReturnType<typeof readDistricts>[number];

export const readStates = () =>
  readTable(new URL("./lgd-states.tsv", import.meta.url)).map(([code = "", lgdCode = "", name = ""]) => ({
    code,
    lgdCode,
    name,
  }));

export const readDistricts = () =>
  readTable(new URL("./lgd-districts.tsv", import.meta.url)).map(
    ([stateCode = "", code = "", name = "", mandalCount = ""]) => ({
      stateCode,
      code,
      name,
      mandalCount: Number(mandalCount),
    }),
  );

const METADATA = {
  contract: PLAYGROUND_CONTRACT,
  source:
    "Contains data of the Local Government Directory (LGD), Ministry of Panchayati Raj, Government of India, " +
    "https://lgdirectory.gov.in/, Government Open Data License - India.",
  sourceRef: "https://lgdirectory.gov.in/",
  // The date of the mandal counts; their export is the older of the two from which the tables were made.
  sourceUpdatedAt: "2026-05-25",
  fallbackUsed: false,
} as const;

export function createCatalogue() {
  const states = readStates();
  const allDistricts = readDistricts();
  const districts = new Map<string, DistrictsResponse>();
  for (const { code, name } of states)
    districts.set(code, {
      ...METADATA,
      state: name,
      districts: allDistricts
        .filter(({ stateCode }) => stateCode === code)
        .map(({ code, name, mandalCount }) => ({ code, name, mandalCount })),
    });
  return {
    states: {
      ...METADATA,
      states: states.map(({ code, lgdCode, name }) => {
        const ownDistricts = districts.get(code)?.districts ?? [];
        const mandalCount = ownDistricts.reduce((sum, district) => sum + district.mandalCount, 0);
        return { code, lgdCode, name, districtCount: ownDistricts.length, mandalCount };
      }),
    },
    /** Keyed by uppercase state code. */
    districts,
  };
}
