import * as z from "zod/v4";
import { listPlaygroundStates } from "../src/contract/endpoints/playground.ts";
import type { State, StatesResponse } from "../src/contract/playground.ts";
import { plural } from "../src/geography/format.ts";
import { allNamesOf } from "../src/geography/names/state.ts";
import { vintageText } from "../src/geography/vintage.ts";
import { table } from "../src/table.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { uris } from "../src/toolkit/resources/uri.ts";
import { type Advice, answerResult } from "../src/toolkit/results.ts";

function adviceOn({ states }: StatesResponse): Advice {
  const sum = (count: (state: State) => number): number => states.reduce((total, state) => total + count(state), 0);
  const districts = plural(
    sum(({ districtCount }) => districtCount),
    "district",
  );
  const mandals = plural(
    sum(({ mandalCount }) => mandalCount),
    "mandal",
  );
  return {
    summary: `The catalogue has ${plural(states.length, "state")} and union territories: ${districts}, ${mandals}.`,
  };
}

function textOf(response: StatesResponse): string {
  const rows = response.states.map(({ code, name, districtCount, mandalCount, lgdCode }) => [
    code,
    name,
    districtCount,
    mandalCount,
    lgdCode ?? "",
  ]);
  return `${vintageText(response)}\n${table(["code", "name", "districtCount", "mandalCount", "lgdCode"], rows)}`;
}

/** One reading mostly answers for ten minutes. */
const texts = new WeakMap<StatesResponse, string>();

export const listStates = defineTool({
  endpoint: listPlaygroundStates,
  name: "list_states",
  title: "List states",
  description:
    "All states and union territories of India: code, numbers of districts and mandals (tehsils, taluks, circles; not blocks).",
  effect: "read",
  input: z.strictObject({}),
  output: outputs.answer<StatesResponse>({ contract: outputs.text, states: outputs.objects }),
  candidates: {
    kind: "code",
    keptMs: 600_000,
    arguments: () => ({}),
    from: ({ states }) => states.map((state) => ({ value: state.code, name: allNamesOf(state) })),
  },
  async run(_args, { context }, { geography }) {
    const { value, drift } = await geography.states(context);
    const body = texts.get(value) ?? textOf(value);
    texts.set(value, body);
    return answerResult(value, { advice: adviceOn(value), body, drift, link: uris.states });
  },
});
