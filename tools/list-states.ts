import * as z from "zod/v4";
import { listPlaygroundStates } from "../src/contract/endpoints/playground.ts";
import type { StatesResponse } from "../src/contract/playground.ts";
import { vintageText } from "../src/geography/vintage-text.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { uris } from "../src/toolkit/resources/uri.ts";
import { table, wholeResult } from "../src/toolkit/results.ts";

function textOf(response: StatesResponse): string {
  const rows = response.states.map(({ code, name, districtCount, mandalCount, lgdCode }) => [
    code,
    name,
    districtCount,
    mandalCount,
    lgdCode ?? "",
  ]);
  return `${rows.length} states. ${vintageText(response)}\n${table(["code", "name", "districts", "mandals", "lgdCode"], rows)}`;
}

/** One reading mostly answers for ten minutes. */
const texts = new WeakMap<StatesResponse, string>();

export const listStates = defineTool({
  endpoint: listPlaygroundStates,
  name: "list_states",
  title: "List states",
  description:
    "All states and union territories of India: two-letter code, number of districts and of mandals (sub-districts).",
  effect: "read",
  input: z.strictObject({}),
  output: outputs.whole<StatesResponse>({ contract: outputs.text, states: outputs.objects }),
  candidates: {
    kind: "code",
    keptMs: 600_000,
    arguments: () => ({}),
    from: ({ states }) => states.map(({ code, name }) => ({ value: code, name })),
  },
  async run(_args, { context }, { geography }) {
    const { value, drift } = await geography.states(context);
    const text = texts.get(value) ?? textOf(value);
    texts.set(value, text);
    return wholeResult(value, { text, drift, link: uris.states });
  },
});
