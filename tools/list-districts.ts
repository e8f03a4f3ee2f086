import { listPlaygroundDistricts } from "../src/contract/endpoints/playground.ts";
import type { DistrictsResponse } from "../src/contract/playground.ts";
import { Failure } from "../src/failure.ts";
import { vintageText } from "../src/geography/vintage-text.ts";
import { word } from "../src/outside.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import type { Ports } from "../src/toolkit/ports.ts";
import { uris } from "../src/toolkit/resources/uri.ts";
import { table, wholeResult } from "../src/toolkit/results.ts";
import type { ToolCall } from "../src/toolkit/tool-call.ts";

const noSuchState = (state: string): Failure =>
  new Failure({
    kind: "not_found",
    message: `No such state: ${state} matches no state of the service's list.`,
    retryable: false,
    sideEffect: "none",
    next: "Call list_states for the codes in use.",
  });

/** Undefined where the states cannot be read. */
async function isListed(
  code: string,
  { context }: ToolCall,
  { geography }: Pick<Ports, "geography">,
): Promise<boolean | undefined> {
  const reading = await geography.states(context).catch(() => undefined);
  return reading?.value.states.some((state) => state.code.toUpperCase() === code);
}

/** The arguments were well-formed; but an upstream's status is kept, whatever it is (section 7.1). */
const mayMeanTheState = (error: unknown): boolean =>
  error instanceof Failure &&
  error.facts.kind !== "upstream_unavailable" &&
  (error.facts.status === 400 || error.facts.status === 404);

export const listDistricts = defineTool({
  endpoint: listPlaygroundDistricts,
  name: "list_districts",
  title: "List districts of a state",
  description: "One state's districts with code, name and number of mandals. Takes a code from list_states.",
  effect: "read",
  input: listPlaygroundDistricts.query,
  output: outputs.whole<DistrictsResponse>({ contract: outputs.text, state: outputs.text, districts: outputs.objects }),
  async run(args, call, ports) {
    // What a code that matches no state is answered with is not shown: it is one if the states list has none such (doubt 9).
    const { value, drift } = await ports.geography.districts(args.state, call.context).catch(async (error: unknown) => {
      throw mayMeanTheState(error) && (await isListed(args.state, call, ports)) === false
        ? noSuchState(args.state)
        : error;
    });
    if (value.districts.length === 0 && (await isListed(args.state, call, ports)) === false)
      throw noSuchState(args.state);
    const rows = value.districts.map((district) => [district.code, district.name, district.mandalCount]);
    const text = `${word(value.state)}: ${rows.length} districts. ${vintageText(value)}\n${table(["code", "name", "mandals"], rows)}`;
    return wholeResult(value, { text, drift, link: uris.districts(args.state) });
  },
});
