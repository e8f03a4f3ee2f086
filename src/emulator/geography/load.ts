// The tables beside this module. In the bundle they lie beside the chunk: the URL is the same.
import { readFileSync } from "node:fs";

export interface StateFacts {
  readonly code: string;
  readonly lgdCode: string;
  readonly name: string;
}

export interface DistrictFacts {
  readonly stateCode: string;
  readonly code: string;
  readonly name: string;
  readonly mandalCount: number;
}

/** A table's rows without its header line. */
function readTable(url: URL): readonly (readonly string[])[] {
  const lines = readFileSync(url, "utf8").split("\n");
  return lines.slice(1).flatMap((line) => (line === "" ? [] : [line.split("\t")]));
}

export const readStates = (): readonly StateFacts[] =>
  readTable(new URL("./lgd-states.tsv", import.meta.url)).map(([code = "", lgdCode = "", name = ""]) => ({
    code,
    lgdCode,
    name,
  }));

export const readDistricts = (): readonly DistrictFacts[] =>
  readTable(new URL("./lgd-districts.tsv", import.meta.url)).map(
    ([stateCode = "", code = "", name = "", mandalCount = ""]) => ({
      stateCode,
      code,
      name,
      mandalCount: Number(mandalCount),
    }),
  );
