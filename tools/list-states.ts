import * as z from "zod/v4";
import { uris } from "../src/catalogue/resources/uri.ts";
import { outputs, table } from "../src/catalogue/results.ts";
import { vintageText } from "../src/catalogue/telling/vintage.ts";
import { defineTool } from "../src/catalogue/tool.ts";
import { listPlaygroundStates } from "../src/contract/endpoints/playground.ts";

export const listStates = defineTool({
  endpoint: listPlaygroundStates,
  name: "list_states",
  title: "List states",
  description:
    "All states and union territories of India: two-letter code, number of districts and of mandals (sub-districts).",
  effect: "read",
  input: z.strictObject({}),
  output: outputs.states,
  async run(_args, { geography, context }) {
    const { value, drift } = await geography.states(context);
    const rows = value.states.map((state) => [
      state.code,
      state.name,
      state.districtCount,
      state.mandalCount,
      state.lgdCode ?? "",
    ]);
    const text = `${rows.length} states. ${vintageText(value)}\n${table(["code", "name", "districts", "mandals", "lgdCode"], rows)}`;
    return { structured: value, text, drift, link: uris.states };
  },
});
