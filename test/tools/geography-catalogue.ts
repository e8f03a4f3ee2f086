// Reads the emulator's catalog over plain HTTP, as the expected data, and creates other catalogs from it.
import { expect } from "vitest";
import type { District, DistrictsResponse, State, StatesResponse } from "../../src/contract/playground.ts";
import { operations } from "../operations.ts";
import type { Bench } from "./bench.ts";

export interface Catalogue {
  readonly states: StatesResponse;
  readonly districts: Readonly<Record<string, DistrictsResponse>>;
}

export interface Row extends District {
  readonly state: State;
}

export async function readCatalogue({ service }: Bench): Promise<Catalogue> {
  // The emulator's rate limit uses its own clock.
  service.clock.advance(120_000);
  const states = await service.ok(operations.listPlaygroundStates);
  const lists = states.states.map(async ({ code }) => {
    const list = await service.ok(operations.listPlaygroundDistricts, { query: { state: code } });
    return [code, list] as const;
  });
  return { states, districts: Object.fromEntries(await Promise.all(lists)) };
}

export const rowsOf = ({ states, districts }: Catalogue): readonly Row[] =>
  states.states.flatMap((state) =>
    (districts[state.code]?.districts ?? []).map((district) => ({ ...district, state })),
  );

/** The catalog with other metadata for the states list (no code) and for each list of districts. */
export const withMetadata = (
  { states, districts }: Catalogue,
  metadata: (code?: string) => Partial<Omit<DistrictsResponse, "state" | "districts">>,
): Catalogue => ({
  states: { ...states, ...metadata() },
  districts: Object.fromEntries(
    Object.entries(districts).map(([code, list]) => [code, { ...list, ...metadata(code) }]),
  ),
});

/** Makes the emulator answer with this catalog; codes that it does not contain become unknown. */
export async function replaceGeography(
  { service }: Bench,
  own: Catalogue,
  { states, districts }: Catalogue,
  more: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const removedCodes = Object.keys(own.districts).filter((code) => !(code in districts));
  const none = Object.fromEntries(removedCodes.map((code) => [code, null]));
  expect(await service.admin("POST", "geography", { states, districts: { ...none, ...districts }, ...more })).toEqual(
    {},
  );
}
