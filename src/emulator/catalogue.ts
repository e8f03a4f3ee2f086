// Builds the playground's answers from the tables of states and districts (src/geography/names/record/README.md).
import { type DistrictsResponse, PLAYGROUND_CONTRACT } from "../contract/playground.ts";
import { readRecord } from "../core/package-files.ts";

export type DistrictFacts = ReturnType<typeof readDistricts>[number];

const compare = (a: string, b: string): number => (a < b ? -1 : 1);

export const readStates = () =>
  readRecord("states")
    .map(({ code = "", lgdCode = "", state: name = "" }) => ({ code, lgdCode, name }))
    .sort((a, b) => compare(a.code, b.code));

export function readDistricts(states = readStates()) {
  const stateCodes = new Map(states.map(({ code, name }) => [name, code]));
  const toSortKey = ({ stateCode, name }: { readonly stateCode: string; readonly name: string }): string =>
    `${stateCode} ${name.toLowerCase()}`;
  return readRecord("districts")
    .map(({ state = "", lgdCode: code = "", district: name = "", mandalCount }) => {
      return { stateCode: stateCodes.get(state) ?? "", code, name, mandalCount: Number(mandalCount) };
    })
    .sort((a, b) => compare(toSortKey(a), toSortKey(b)));
}

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
  const allDistricts = readDistricts(states);
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
