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

/** The catalog with each district changed by `change`, and with recomputed totals. */
export function changeCatalogue(
  { states, districts }: Catalogue,
  change: {
    readonly district?: (district: District, index: number) => District;
    readonly code?: (code: string) => string;
    readonly metadata?: (code: string) => Partial<Omit<DistrictsResponse, "state" | "districts">>;
  },
): Catalogue {
  const { district = (each: District) => each, code: recode = (code: string) => code, metadata = () => ({}) } = change;
  const lists = Object.entries(districts).map(([code, list]) => {
    const all = { ...list, ...metadata(code), districts: list.districts.map(district) };
    return [recode(code), all] as const;
  });
  const byCode = Object.fromEntries(lists);
  const counted = states.states.map((state) => {
    const code = recode(state.code);
    const own = byCode[code]?.districts ?? [];
    const mandalCount = own.reduce((sum, each) => sum + each.mandalCount, 0);
    return { ...state, code, districtCount: own.length, mandalCount };
  });
  return { states: { ...states, ...metadata(""), states: counted }, districts: byCode };
}

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
