// This module defines find_district, which finds districts by current or former name, headquarters or misspelling.
import * as z from "zod/v4";
import { formatTable } from "../src/core/table.ts";
import { AGENT, render, say, type Text } from "../src/core/text.ts";
import { DISTRICT_COLUMNS, type DistrictRow, findDifferencesInDistricts } from "../src/geography/districts.ts";
import {
  describeFinding,
  describeFindings,
  describeHint,
  describeInterpretation,
  describeNamesakes,
  describeUnclear,
  type Finding,
  type FoundDistricts,
  findDistricts,
  findElsewhere,
} from "../src/geography/find-districts.ts";
import { formatDates, formatState } from "../src/geography/format.ts";
import type { FoundDistrict } from "../src/geography/names/district-search.ts";
import {
  type DescribedAnswer,
  type GeographyNote,
  geographyWaitSeconds,
  queryCountry,
  repeatWithMaxWait,
  stateArgument,
} from "../src/toolkit/country.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { type Advice, type NextStep, toolResult } from "../src/toolkit/results.ts";
import type { ToolContext } from "../src/toolkit/tool-context.ts";

/** A match. `match` and `kind` are absent if it is the only one and certain, because then the summary states what the name is. */
type Match = Omit<FoundDistrict, "match"> & Partial<Pick<FoundDistrict, "match">>;
interface Answer extends Omit<FoundDistricts, "matches"> {
  readonly matches: readonly Match[];
}
/**
 * Returns the matches as a model reads them, without the names of their states, which the summary has, and without the `match` of a certain
 * only match if `certainty` or `kind` implies it. `note`: about one of several names, unless its only match is sufficient.
 */
function toShown({ matches, ...answer }: Answer, note?: Text) {
  const isCertain = matches.length === 1 && answer.certainty !== "guess";
  const shown = matches.map(({ stateName: _stateName, match, ...others }) =>
    isCertain && (match === "exact" || others.kind !== undefined) ? others : { ...others, ...(match && { match }) },
  );
  return { ...answer, matches: shown, ...(note && { note: render(note, AGENT) }) };
}

/** Returns the answer to a single name without the facts that the summary already states. */
function withoutRepetition(answer: FoundDistricts): Answer {
  const { readAs: _readAs, ...others } = answer;
  const [only, ...more] = answer.matches;
  if (only === undefined || more.length > 0 || answer.certainty === "guess") return answer;
  const { match: _match, kind: _kind, ...match } = only;
  return { ...others, matches: [match] };
}

interface FindingMetadata extends GeographyNote {
  /** Differences between the lists that affect the matches; absent if there are none. */
  readonly consistency?: readonly string[];
}

const DEFAULT_LIMIT = 5;

/** An LGD code may have one digit. */
const nameArgument = z
  .string()
  .trim()
  .min(1)
  .max(80)
  .refine((name) => name.length !== 1 || /\d/.test(name), { error: "must be at least 2 characters long" });

const input = z
  .strictObject({
    name: nameArgument.optional(),
    names: z
      .array(nameArgument)
      .min(1)
      .max(50)
      .describe('Up to 50 instead of name, such as "Bilaspur, HP".')
      .optional(),
    state: stateArgument.optional(),
    limit: z.int().min(1).max(20).describe(`Matches for each name (default ${DEFAULT_LIMIT}).`).optional(),
    waitSeconds: geographyWaitSeconds,
  })
  .refine(({ name, names }) => (name === undefined) !== (names === undefined), {
    path: ["name"],
    error: "give either name or names",
    params: { code: "CONFLICT" },
  });

type FindDistrictArguments = Omit<z.output<typeof input>, "waitSeconds">;

const MORE_COLUMNS = ["match", "kind", "since", "via", "score", "createdYear", "restored", "carvedFrom"] as const;

function tableOf(answers: readonly Answer[], hasQueryColumn: boolean): readonly string[] {
  const rows = answers.flatMap(({ query, matches, certainty = "" }) =>
    matches.map((match) => ({ query, match, certainty })),
  );
  if (rows.length === 0) return [];
  const more = MORE_COLUMNS.filter((column) => rows.some(({ match }) => match[column] !== undefined));
  const cells = rows.map(({ query, match, certainty }) => [
    ...(hasQueryColumn ? [query] : []),
    ...DISTRICT_COLUMNS.map((column) => match[column]),
    certainty,
    ...more.map((column) => match[column] ?? ""),
  ]);
  return [formatTable([...(hasQueryColumn ? ["query"] : []), ...DISTRICT_COLUMNS, "certainty", ...more], cells)];
}

/** Reads missing lists or one state's list, finds what the place is part of now, or drops the state from the query. */
function nextStepFor(
  finding: Finding,
  elsewhere: readonly DistrictRow[],
  args: FindDistrictArguments,
  { answer: { states }, metadata }: DescribedAnswer,
  ctx: ToolContext,
): NextStep | undefined {
  const { matchedState, answer, unlisted, searchedState } = finding;
  if (matchedState !== undefined)
    return { tool: "list_districts", arguments: { state: matchedState.code }, why: say`lists its districts` };
  const isGuess = answer.matches.every(({ match }) => match === "similar");
  if (unlisted?.change !== undefined && isGuess) {
    const { state, change } = unlisted;
    return {
      tool: "find_district",
      arguments: { names: change.partOf, state: state.code },
      why: say`shows what it is part of`,
    };
  }
  if (answer.matches.length > 0) return undefined;
  const [row, ...otherRows] = elsewhere;
  if (row !== undefined) {
    const { state: _state, ...others } = args;
    return otherRows.length === 0
      ? {
          tool: "find_district",
          arguments: { ...others, state: row.stateCode },
          why: say`finds it in ${row.stateCode}`,
        }
      : { tool: "find_district", arguments: others, why: say`finds it in other states` };
  }
  const again = repeatWithMaxWait(ctx, { ...args }, metadata.coverage);
  const [only, ...others] = states;
  const state = searchedState ?? (others.length === 0 ? only : undefined);
  if (again !== undefined || state === undefined || !metadata.coverage.complete) return again;
  return { tool: "list_districts", arguments: { state: state.code }, why: say`lists its districts` };
}

/** " in Goa (GA)" if the search is limited to one state; then also the districts that have the name in other states, if it has none. */
async function lookElsewhere({ answer }: Finding, args: FindDistrictArguments, { country, ...found }: DescribedAnswer) {
  const { states } = found.answer;
  const [only, ...others] = states;
  if (only === undefined || others.length > 0 || args.state === undefined) return { where: [], elsewhere: [] };
  const where = say` in ${formatState(only)}`;
  return {
    where,
    elsewhere: answer.matches.length > 0 ? [] : await findElsewhere(answer.query, states, country),
  };
}

async function adviceForOne(
  finding: Finding,
  args: FindDistrictArguments,
  found: DescribedAnswer,
  ctx: ToolContext,
): Promise<Advice> {
  const { coverage } = found.metadata;
  const { where, elsewhere } = await lookElsewhere(finding, args, found);
  const nextStep = nextStepFor(finding, elsewhere, args, found, ctx);
  const certainty = finding.answer.matches.length > 0 && describeNamesakes(finding, coverage);
  const hint = elsewhere.length === 0 && describeHint(finding, coverage);
  const summary = say`${describeFinding(finding, coverage, where, elsewhere)}${certainty}${hint}${found.readings}`;
  return { summary, nextStep };
}

export const findDistrict = defineTool({
  toolsets: ["geography"],
  name: "find_district",
  title: "Find a district: which state, former names, headquarters",
  description:
    "Find districts of India by current or former name, headquarters or misspelling: state and mandal (sub-district) count. " +
    "If ambiguous is true, report all matches. For rankings use rank_divisions.",
  searchHint: "which state, old or former name, city, spelling",
  effect: "read",
  input,
  output: outputs.answer<object>({ vintage: outputs.text }, { matches: outputs.list, nextStep: outputs.object }),
  async run({ waitSeconds, ...args }, ctx) {
    const { name = [], names, state, limit = DEFAULT_LIMIT } = args;
    const queries = names ?? [name].flat();
    const countryAnswer = await queryCountry(
      {
        level: "district",
        states: state === undefined ? undefined : [state],
        answer: (states, country) => findDistricts(queries, states, country, limit),
        waitSeconds,
      },
      ctx,
    );
    const { answer, country, drift } = countryAnswer;
    const { coverage, vintage } = countryAnswer.metadata;
    const { findings, requiredLists } = answer;
    const differences = findDifferencesInDistricts(
      findings.flatMap(({ answer }) => answer.matches),
      country,
    );
    const consistency = differences.map((text) => render(text, AGENT));
    const metadata: FindingMetadata = { ...countryAnswer.note, ...(consistency.length > 0 && { consistency }) };
    const ending = [...differences, countryAnswer.line];
    const [only] = findings;
    if (args.names === undefined && only !== undefined) {
      const found = withoutRepetition(only.answer);
      const interpretation = found.readAs === undefined ? [] : describeInterpretation(only);
      const lines = [...interpretation, ...tableOf([found], false), ...ending];
      const advice = await adviceForOne(only, args, countryAnswer, ctx);
      const { query: _query, ...shown } = toShown(found);
      // The source is in the text, in the answers of the other tools and in list_states.
      const dates = { vintage: formatDates(coverage, vintage) };
      return toolResult({ ...shown, ...metadata, ...dates }, { ...advice, lines, drift });
    }
    const found = findings.map(({ answer }) => answer);
    const answers: object[] = [];
    const notes: Text[] = [];
    for (const finding of findings) {
      const { where, elsewhere } = await lookElsewhere(finding, args, countryAnswer);
      const note = describeUnclear(finding, coverage, where, elsewhere);
      answers.push(toShown(finding.answer, note));
      notes.push(...(note ? [note] : []), ...describeInterpretation(finding));
    }
    const nextStep = requiredLists.rows.length > 0 ? repeatWithMaxWait(ctx, { ...args }, coverage) : undefined;
    const summary = say`${describeFindings(findings, coverage)}${countryAnswer.readings}`;
    const lines = [...notes, ...tableOf(found, true), ...ending];
    return toolResult({ answers, ...metadata }, { summary, nextStep, lines, drift });
  },
});
