// Builds the playground's answers from the tables of states and districts (src/geography/names/record/README.md).
import { type DistrictsResponse, PLAYGROUND_CONTRACT } from "../contract/playground.ts";
import { once } from "../core/once.ts";
import { readRecord } from "../core/package-files.ts";

const compare = (a: string, b: string): number => (a < b ? -1 : 1);

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

/** Reads the tables once for all emulators of this process. */
export const readCatalogue = once(() => {
  const districtRows = readRecord("districts");
  const rows = readRecord("states")
    .map(({ code = "", lgdCode = "", state: name = "" }) => {
      const districts = districtRows
        .filter(({ state }) => state === name)
        .map(({ lgdCode: code = "", district: name = "", mandalCount: count }) => ({
          code,
          name,
          mandalCount: Number(count),
        }))
        .sort((a, b) => compare(a.name.toLowerCase(), b.name.toLowerCase()));
      return { code, lgdCode, name, districts };
    })
    .sort((a, b) => compare(a.code, b.code));
  return {
    states: {
      ...METADATA,
      states: rows.map(({ districts, ...state }) => {
        const mandalCount = districts.reduce((sum, district) => sum + district.mandalCount, 0);
        return { ...state, districtCount: districts.length, mandalCount };
      }),
    },
    /** Keyed by uppercase state code. */
    districts: new Map(
      rows.map(({ code, name, districts }): [string, DistrictsResponse] => [
        code,
        { ...METADATA, state: name, districts },
      ]),
    ),
  };
});

export type DistrictFacts = ReturnType<typeof listDistricts>[number];

/** Returns the districts of all states, in the order of the lists. */
export const listDistricts = () =>
  [...readCatalogue().districts].flatMap(([stateCode, { districts }]) =>
    districts.map((district) => ({ stateCode, ...district })),
  );
