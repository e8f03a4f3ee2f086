import { uris } from "../src/catalogue/resources/uri.ts";
import { outputs, table } from "../src/catalogue/results.ts";
import { vintageText } from "../src/catalogue/telling/vintage.ts";
import { defineTool } from "../src/catalogue/tool.ts";
import { listPlaygroundDistricts } from "../src/contract/endpoints/playground.ts";
import { Failure } from "../src/failure.ts";
import { word } from "../src/outside.ts";

const noSuchState = (state: string): Failure =>
  new Failure({
    kind: "not_found",
    message: `No such state: ${state} matches no state of the service's list.`,
    retryable: false,
    sideEffect: "none",
    next: "Call list_states for the codes in use.",
  });

export const listDistricts = defineTool({
  endpoint: listPlaygroundDistricts,
  name: "list_districts",
  title: "List districts of a state",
  description: "One state's districts with code, name and number of mandals. Takes a code from list_states.",
  effect: "read",
  input: listPlaygroundDistricts.query,
  output: outputs.districts,
  async run(args, { geography, context }) {
    const { value, drift } = await geography.districts(args.state, context).catch((error: unknown) => {
      // The arguments were well-formed, so a 400 or 404 can only mean the state itself (doubt 9).
      const status = error instanceof Failure ? error.facts.status : undefined;
      throw status === 400 || status === 404 ? noSuchState(args.state) : error;
    });
    if (value.districts.length === 0) throw noSuchState(args.state);
    const rows = value.districts.map((district) => [district.code, district.name, district.mandalCount]);
    const text = `${word(value.state)}: ${rows.length} districts. ${vintageText(value)}\n${table(["code", "name", "mandals"], rows)}`;
    return { structured: value, text, drift, link: uris.districts(args.state) };
  },
});
