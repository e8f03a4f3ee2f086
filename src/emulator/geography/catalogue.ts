// The playground's answers, made from the tables once at start.
import { type DistrictsResponse, PLAYGROUND_CONTRACT, type StatesResponse } from "../../contract/playground.ts";
import { readDistricts, readStates } from "./load.ts";

const METADATA = {
  contract: PLAYGROUND_CONTRACT,
  source:
    "Contains data of the Local Government Directory (LGD), Ministry of Panchayati Raj, Government of India, " +
    "https://lgdirectory.gov.in/, Government Open Data License - India.",
  sourceRef: "https://lgdirectory.gov.in/",
  // Of the mandal counts, the older of the two exports the tables are made of.
  sourceUpdatedAt: "2026-05-25",
  fallbackUsed: false,
} as const;

export interface Catalogue {
  readonly states: StatesResponse;
  /** By state code in uppercase. */
  readonly districts: ReadonlyMap<string, DistrictsResponse>;
}

export function makeCatalogue(): Catalogue {
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
        const own = districts.get(code)?.districts ?? [];
        const mandalCount = own.reduce((sum, district) => sum + district.mandalCount, 0);
        return { code, lgdCode, name, districtCount: own.length, mandalCount };
      }),
    },
    districts,
  };
}
