import * as z from "zod/v4";
import { listPlaygroundDistricts } from "../src/contract/endpoints/playground.ts";
import type { DistrictsResponse } from "../src/contract/playground.ts";
import { Failure } from "../src/failure.ts";
import { DISTRICT_COLUMNS } from "../src/geography/districts.ts";
import { noneListedText, plural } from "../src/geography/format.ts";
import type { DatedAnswer } from "../src/geography/geography.ts";
import { resolveState, stateMeant } from "../src/geography/names/state.ts";
import { vintageText } from "../src/geography/vintage-text.ts";
import { word } from "../src/outside.ts";
import { table } from "../src/table.ts";
import { saveAs } from "../src/toolkit/arguments.ts";
import { stateArgument } from "../src/toolkit/country.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { toolResult } from "../src/toolkit/results.ts";
import { checkSaveAs, type SavedRows, savedText, saveRows } from "../src/toolkit/save-rows.ts";
import type { Ports, ToolCall } from "../src/toolkit/tool-call.ts";
import { uris } from "../src/toolkit/uri.ts";

type ListedDistricts = Omit<DistrictsResponse, "districts"> & (Pick<DistrictsResponse, "districts"> | SavedRows);

interface ReadState extends DatedAnswer<DistrictsResponse> {
  /** As the service was asked for it. */
  readonly code: string;
}

const { state: stateCode } = listPlaygroundDistricts.query.shape;

/** Letters, and what stands between the words of a name. */
const STATE = /^[\p{L}\p{M}][\p{L}\p{M} .,&'’()-]*[\p{L}\p{M}.)]$/u;

const noSuchState = (code: string): Failure =>
  new Failure({
    kind: "not_found",
    message: `No such state: ${code} matches no state of the service's list.`,
    retryable: false,
    sideEffect: "none",
    next: "Call list_states for the codes in use.",
  });

/** The arguments were well-formed; but an upstream's status is kept, whatever it is (section 7.1). */
const mayMeanTheState = (error: unknown): boolean =>
  error instanceof Failure &&
  error.facts.kind !== "upstream_unavailable" &&
  (error.facts.status === 400 || error.facts.status === 404);

const readState = async (
  code: string,
  { context }: ToolCall,
  { geography }: Pick<Ports, "geography">,
): Promise<ReadState> => ({
  ...(await geography.districts(code, context)),
  code,
});

/**
 * What a code that matches no state is answered with is not shown: it is one if the states list has none such (doubt 9). A former
 * code is followed to the state that it was.
 */
async function readByCode(code: string, call: ToolCall, ports: Pick<Ports, "geography">): Promise<ReadState> {
  let failure: unknown;
  const read = await readState(code, call, ports).catch((error: unknown) => {
    if (!mayMeanTheState(error)) throw error;
    failure = error;
    return undefined;
  });
  if (read !== undefined && read.value.districts.length > 0) return read;
  const reading = await ports.geography.states(call.context).catch(() => undefined);
  const states = reading?.value.states ?? [];
  if (reading === undefined || states.some((state) => state.code.toUpperCase() === code)) {
    if (read === undefined) throw failure;
    return read;
  }
  const meant = stateMeant(code, states);
  if (meant === undefined) throw noSuchState(code);
  return await readState(meant.code, call, ports);
}

async function readByName(name: string, call: ToolCall, ports: Pick<Ports, "geography">): Promise<ReadState> {
  const { value } = await ports.geography.states(call.context);
  return await readState(resolveState(name, value.states).code, call, ports);
}

export const listDistricts = defineTool({
  endpoint: listPlaygroundDistricts,
  name: "list_districts",
  title: "List districts of a state",
  description: "One state's districts: code, name, number of mandals.",
  effect: "export",
  input: z.strictObject({
    state: stateArgument.refine((text) => STATE.test(text), { error: "must be a state's code or name" }),
    saveAs,
  }),
  output: outputs.answer<ListedDistricts>(
    { contract: outputs.text, state: outputs.text },
    { districts: outputs.objects },
  ),
  async run({ state, saveAs }, call, ports) {
    const asked = stateCode.safeParse(state);
    if (saveAs !== undefined) await checkSaveAs(ports, saveAs);
    const { value, drift, code } = await (asked.success
      ? readByCode(asked.data, call, ports)
      : readByName(state, call, ports));
    const { districts, ...about } = value;
    const mandals = districts.reduce((sum, { mandalCount }) => sum + mandalCount, 0);
    const counts = `${word(value.state)} (${code}): ${plural(districts.length, "district")}, ${plural(mandals, "mandal")}.`;
    const vintage = vintageText(value);
    if (saveAs !== undefined) {
      const rows = districts.map((district) => [district.code, district.name, code, value.state, district.mandalCount]);
      const madeBy = { tool: call.tool, arguments: { state, saveAs } };
      const { said, file } = await saveRows(ports, saveAs, { columns: DISTRICT_COLUMNS, rows }, madeBy);
      const summary = `${counts} ${savedText(said)}`;
      return toolResult(call, { ...about, ...said }, { summary, lines: [vintage], drift, file });
    }
    const rows = districts.map((district) => [district.code, district.name, district.mandalCount]);
    const none =
      districts.length === 0 ? " The state is listed, its list of districts is empty." : noneListedText(districts);
    return toolResult(call, value, {
      summary: `${counts}${none}`,
      lines: [vintage, table(["districtCode", "name", "mandalCount"], rows)],
      drift,
      link: uris.districts(code),
    });
  },
});
