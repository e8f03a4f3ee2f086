// A country whose lists have all been read: the emulator's, optionally with other names.
import { listDistricts, readCatalogue } from "../../src/emulator/catalogue.ts";
import type { Country } from "../../src/geography/country.ts";
import { toCountry } from "./fake-service.ts";

export interface ListedDistrict {
  readonly stateCode: string;
  readonly code: string;
  readonly name: string;
  readonly mandalCount: number;
}

export const emulatedDistricts: readonly ListedDistrict[] = listDistricts();

/** `names`: names of states by code that differ from the emulator's. */
export const knownCountry = (
  districts: readonly ListedDistrict[] = emulatedDistricts,
  names: Readonly<Record<string, string>> = {},
): Country =>
  toCountry(
    readCatalogue().states.states.map(({ code, name }) => ({
      code,
      name: names[code] ?? name,
      districts: districts
        .filter(({ stateCode }) => stateCode === code)
        .map(({ code, name, mandalCount }) => ({ code, name, mandalCount })),
    })),
  );
