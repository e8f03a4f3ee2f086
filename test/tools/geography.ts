// Reads the emulator's catalog over HTTP, and prepares servers with empty caches and an API with another catalog.
import { expect } from "vitest";
import type { DistrictsResponse } from "../../src/contract/playground.ts";
import { operations } from "../operations.ts";
import type { ClientRevision } from "../support/mcp.ts";
import { type Args, type Bench, createFreshBench } from "./bench.ts";

type Districts = DistrictsResponse["districts"];

export const listOf = ({ service }: Bench, state: string) =>
  service.ok(operations.listPlaygroundDistricts, { query: { state } });

/** All states, and the list of each. */
export async function readLists(bench: Bench) {
  // The emulator's rate limit uses its own clock.
  bench.clock.advance(120_000);
  const response = await bench.service.ok(operations.listPlaygroundStates);
  const lists = response.states.map(async (state) => ({ state, list: await listOf(bench, state.code) }));
  return { response, lists: await Promise.all(lists) };
}

/** All districts, each with its state. */
export const readDistricts = async (bench: Bench) =>
  (await readLists(bench)).lists.flatMap(({ state, list }) =>
    list.districts.map((district) => ({ ...district, state })),
  );

/** Connects a server with empty caches, whose API has these answers instead of its own. */
export async function freshWith(bench: Bench, revision: ClientRevision, answers: object): Promise<Bench> {
  const own = await createFreshBench(bench, revision);
  expect(await own.service.admin("POST", "geography", answers)).toEqual({});
  return own;
}

/** The same with changed districts of one state. */
export async function freshWithDistricts(
  bench: Bench,
  revision: ClientRevision,
  state: string,
  change: (own: Districts) => Districts,
): Promise<Bench> {
  const list = await listOf(bench, state);
  return freshWith(bench, revision, { districts: { [state]: { ...list, districts: change(list.districts) } } });
}

export type Fact = string | RegExp;

/** Asserts that the answer to a question has these facts: a text anywhere, with or without its quotation marks, or a pattern. */
export function expectFacts(structured: Args, facts: readonly Fact[]): void {
  const json = JSON.stringify(structured);
  const unquoted = JSON.stringify({ ...structured, summary: String(structured["summary"]).replaceAll('"', "") });
  const has = (fact: Fact) => (typeof fact === "string" ? (unquoted + json).includes(fact) : fact.test(json));
  expect(
    facts.filter((fact) => !has(fact)),
    json,
  ).toEqual([]);
}
