// This module defines list_states, which lists all states and union territories with their counts.

import * as z from "zod/v4";
import { listPlaygroundStates } from "../src/contract/endpoints/playground.ts";
import type { StatesResponse } from "../src/contract/playground.ts";
import { countPart } from "../src/core/counts.ts";
import { formatTable } from "../src/core/table.ts";
import { say, type Text } from "../src/core/text.ts";
import { describeSource, formatListVintage, keyByCode } from "../src/geography/format.ts";
import { joinAllNames } from "../src/geography/names/resolve-state.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { toolResult } from "../src/toolkit/results.ts";
import { references } from "../src/toolkit/uri.ts";

function summaryOf({ states }: StatesResponse): Text {
  const sum = (count: "districtCount" | "mandalCount"): number =>
    states.reduce((total, state) => total + state[count], 0);
  const counts = say`${countPart(sum("districtCount"), "district")}, ${countPart(sum("mandalCount"), "mandal")}`;
  return say`The catalog has ${countPart(states.length, "state")} and union territories: ${counts}.`;
}

export const listStates = defineTool({
  endpoint: listPlaygroundStates,
  name: "list_states",
  title: "List states and union territories of India",
  description:
    "List every state and union territory of India: code, district count, mandal count (tehsils, taluks; not blocks). " +
    "For rankings or totals use rank_divisions.",
  effect: "read",
  input: z.strictObject({}),
  output: outputs.catalog<StatesResponse>({ states: outputs.object }),
  completions: {
    kind: "code",
    ttlMs: 600_000,
    arguments: () => ({}),
    toValues: ({ states }) => states.map((state) => ({ value: state.code, name: joinAllNames(state) })),
  },
  async run(_args, ctx) {
    const { value, drift } = await ctx.geography.states(ctx);
    const rows = value.states.map(({ code, name, districtCount: districts, mandalCount: mandals }) => {
      return { code, name, districts, mandals };
    });
    const cells = rows.map((row) => Object.values(row));
    return toolResult(value, {
      fields: { states: keyByCode(rows), vintage: formatListVintage(value) },
      summary: summaryOf(value),
      lines: [describeSource(value), formatTable(["code", "name", "districts", "mandals"], cells)],
      drift,
      link: references.states,
    });
  },
});
