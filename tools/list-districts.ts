// This module defines list_districts, which lists the districts of one state.

import * as z from "zod/v4";
import { listPlaygroundDistricts } from "../src/contract/endpoints/playground.ts";
import type { DistrictsResponse, State } from "../src/contract/playground.ts";
import { countPart } from "../src/core/counts.ts";
import { Failure } from "../src/core/failure.ts";
import { formatTable } from "../src/core/table.ts";
import { say, type Text } from "../src/core/text.ts";
import { DISTRICT_COLUMNS, sumMandals } from "../src/geography/districts.ts";
import { describeSource, describeZeroCounts, formatListVintage, keyByCode } from "../src/geography/format.ts";
import { describeReading, resolveState } from "../src/geography/names/resolve-state.ts";
import { stateArgument } from "../src/toolkit/country.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { toolResult } from "../src/toolkit/results.ts";
import type { ToolContext } from "../src/toolkit/tool-context.ts";
import { references } from "../src/toolkit/uri.ts";

const { state: stateCode } = listPlaygroundDistricts.query.shape;

/** A text with two letters, or an LGD code. */
const STATE = /^\d{1,3}$|\p{L}[\p{M}.\s&]*\p{L}/u;

/** The contract does not define the response to an unknown code (open question 9). */
const mayBeUnknownState = (error: unknown): error is Failure =>
  error instanceof Failure &&
  (error.facts.kind === "not_found" || (error.facts.status === 400 && error.facts.kind !== "upstream_unavailable"));

async function readDistricts(text: string, ctx: ToolContext) {
  const read = async (code: string, reading: Text = []) => ({
    ...(await ctx.geography.districts(code, ctx)),
    code,
    reading,
  });
  const readNamed = async (states: readonly State[]) => {
    const state = resolveState(text, states);
    return await read(state.code, describeReading(text, state, states));
  };
  const { success, data: code = "" } = stateCode.safeParse(text);
  if (!success) return await readNamed((await ctx.geography.states(ctx)).value.states);
  const list = await read(code).catch((error: unknown) => {
    if (mayBeUnknownState(error)) return error;
    throw error;
  });
  if (!(list instanceof Failure) && list.value.districts.length > 0) return list;
  // A code is unknown if the states list does not contain it.
  const states = await ctx.geography.states(ctx).then(
    ({ value }) => value.states,
    () => undefined,
  );
  const isUnknown = states !== undefined && !states.some((state) => state.code.toUpperCase() === code);
  // A former code is resolved to the state that had it.
  if (isUnknown) return await readNamed(states);
  if (list instanceof Failure) throw list;
  return list;
}

const countsText = ({ state, districts }: DistrictsResponse, code: string): Text =>
  say`${state} (${code}): ${countPart(districts.length, "district")}, ${countPart(sumMandals(districts), "mandal")}.`;

/** What a state's list contains besides its rows. */
const factsOf = (list: DistrictsResponse) => ({ state: list.state, vintage: formatListVintage(list) });

export const listDistricts = defineTool({
  endpoint: listPlaygroundDistricts,
  name: "list_districts",
  title: "List all districts of one state",
  description:
    "List one state's districts: code, name, mandal (sub-district) count. For several states, rankings or totals use rank_divisions.",
  effect: "read",
  input: z.strictObject({
    state: stateArgument.refine((text) => STATE.test(text), { error: "must be a state's code, name or LGD code" }),
  }),
  output: outputs.catalog<DistrictsResponse>({ state: outputs.text, districts: outputs.object }),
  async run({ state }, ctx) {
    const { value, drift, code, reading } = await readDistricts(state, ctx);
    const { districts } = value;
    const none =
      districts.length === 0
        ? say` The state is listed, its list of districts is empty.`
        : describeZeroCounts(districts);
    const shown = districts.map(({ code, name, mandalCount: mandals }) => ({ code, name, mandals }));
    return toolResult(value, {
      fields: { ...factsOf(value), districts: keyByCode(shown) },
      summary: say`${countsText(value, code)}${none}${reading}`,
      lines: [
        describeSource(value),
        formatTable(
          ["districtCode", "name", "mandals"],
          shown.map((row) => Object.values(row)),
        ),
      ],
      drift,
      link: references.districts(code),
    });
  },
  async tabulate({ state }, ctx) {
    const { value, drift, code, reading } = await readDistricts(state, ctx);
    const rows = value.districts.map((district) => [
      district.code,
      district.name,
      code,
      value.state,
      district.mandalCount,
    ]);
    const summary = say`${countsText(value, code)}${reading}`;
    const lines = [describeSource(value)];
    return { columns: DISTRICT_COLUMNS, rows, fields: factsOf(value), summary, lines, drift };
  },
});
