// Asks find_district, from outside, all questions over an emulator whose districts are named as wanted, and judges each answer.
import * as z from "zod/v4";
import { makeCatalogue } from "../../../src/emulator/geography/catalogue.ts";
import { startEmulator } from "../../../src/emulator/index.ts";
import { type ClientFace, connectInside, emulatorEnv } from "../../support/mcp.ts";
import { groupBy, Match, type Question } from "./rows.ts";

const Answer = z.looseObject({
  query: z.string(),
  readAs: z.object({ name: z.string().optional(), state: z.string().optional() }).optional(),
  matches: z.array(z.looseObject({ districtCode: z.string(), name: z.string(), stateCode: z.string(), match: Match })),
  ambiguous: z.boolean(),
});
type Answer = z.infer<typeof Answer>;
const Answers = z.looseObject({ coverage: z.object({ complete: z.boolean() }), answers: z.array(Answer) });

export interface Judged {
  readonly question: Question;
  readonly isRight: boolean;
  /** Nothing in the answer says that something else may be meant. */
  readonly isSure: boolean;
  /** The answer is sure of itself, and says what it must not. */
  readonly isSurelyWrong: boolean;
  /** What was answered, in a line. */
  readonly told: string;
}

export interface Measured {
  readonly judged: readonly Judged[];
  /** Of this process, for one name: the search, the protocol on both sides. */
  readonly cpuMsPerName: number;
}

/** The most names of one call. */
const BATCH = 50;

const isSure = ({ matches: [best], ambiguous }: Answer): boolean =>
  best !== undefined && best.match !== "similar" && !ambiguous;

function isRight({ expected, match }: Question, answer: Answer): boolean {
  const { matches, ambiguous, readAs } = answer;
  if (expected.kind === "none") return !isSure(answer);
  if (expected.kind === "state") return !isSure(answer) && readAs?.state === expected.code && readAs.name === undefined;
  const { codes } = expected;
  const [best] = matches;
  if (best === undefined || !codes.includes(best.districtCode)) return false;
  if (match !== undefined && best.match !== match) return false;
  if (codes.length === 1) return true;
  return ambiguous && codes.every((code) => matches.some(({ districtCode }) => districtCode === code));
}

function isSurelyWrong({ expected }: Question, answer: Answer): boolean {
  const [best] = answer.matches;
  if (!isSure(answer) || best === undefined) return false;
  return expected.kind !== "districts" || !expected.codes.includes(best.districtCode);
}

function toldBy({ matches, ambiguous, readAs }: Answer): string {
  const rows = matches.map(({ name, stateCode, match }) => `${name} ${stateCode} ${match}`).join(", ");
  const read = readAs === undefined ? "" : ` (read as ${readAs.name ?? "a state"} ${readAs.state ?? ""})`;
  return `${rows || "-"}${ambiguous ? ", ambiguous" : ""}${read}`;
}

async function ask(client: ClientFace, batch: readonly Question[]): Promise<readonly Judged[]> {
  const [{ state } = {}] = batch;
  const args = { names: batch.map(({ query }) => query), ...(state !== undefined && { state }) };
  const { structured, text, isError } = await client.callTool("find_district", args);
  if (isError) {
    const [told = ""] = text.split("\n");
    return batch.map((question) => ({ question, isRight: false, isSure: false, isSurelyWrong: false, told }));
  }
  const { answers, coverage } = Answers.parse(structured);
  if (!coverage.complete) throw new Error(`not every list was read: ${text}`);
  return batch.map((question, at) => {
    const answer = answers[at];
    if (answer?.query !== question.query) throw new Error(`"${question.query}" was not answered`);
    return {
      question,
      isRight: isRight(question, answer),
      isSure: isSure(answer),
      isSurelyWrong: isSurelyWrong(question, answer),
      told: toldBy(answer),
    };
  });
}

/** Of one state argument each, and no more than a call takes. */
function batchesOf(questions: readonly Question[]): readonly (readonly Question[])[] {
  const byState = groupBy(questions, ({ state }) => state);
  return [...byState.values()].flatMap((group) =>
    Array.from({ length: Math.ceil(group.length / BATCH) }, (_, at) => group.slice(at * BATCH, (at + 1) * BATCH)),
  );
}

/** A district that bears another name in this world cannot be found by that of the directory itself. */
function askableOver(names: ReadonlyMap<string, string>, question: Question): Question {
  const { match, ...rest } = question;
  const { expected } = question;
  const isRenamed = expected.kind === "districts" && expected.codes.some((code) => names.has(code));
  return match === "exact" && isRenamed ? rest : question;
}

/** The playground's answers with these names, by district code, instead of the table's. */
function namedOtherwise(names: ReadonlyMap<string, string>) {
  const lists = [...makeCatalogue().districts].map(([state, list]) => {
    const districts = list.districts.map((each) => ({ ...each, name: names.get(each.code) ?? each.name }));
    return [state, { ...list, districts }] as const;
  });
  return { districts: Object.fromEntries(lists) };
}

/** An hour passes between any two looks at it: the emulator's rate is nothing to wait for here. */
function hastyClock() {
  let nowMs = Date.parse("2100-01-15T10:00:00.000Z");
  return {
    now: () => {
      nowMs += 3_600_000;
      return nowMs;
    },
  };
}

/** `names`: by district code, what the service calls a district instead. */
export async function measure(
  questions: readonly Question[],
  names: ReadonlyMap<string, string> = new Map(),
): Promise<Measured> {
  const emulator = await startEmulator({ clock: hastyClock() });
  try {
    const body = JSON.stringify(namedOtherwise(names));
    const { ok, status } = await fetch(`${emulator.baseUrl}/__emulator/geography`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    });
    if (!ok) throw new Error(`the emulator refused these names with HTTP ${status}`);
    const client = await connectInside("v2-modern", { env: { ...emulatorEnv(emulator), MIC_GEOGRAPHY_RATE: "600" } });
    try {
      // All lists are read once, before anything is measured.
      await client.callTool("find_district", { name: "Nowhereville", waitSeconds: 45 });
      const asked = questions.map((question) => askableOver(names, question));
      const before = process.cpuUsage();
      const judged: Judged[] = [];
      for (const batch of batchesOf(asked)) judged.push(...(await ask(client, batch)));
      const { user, system } = process.cpuUsage(before);
      return { judged, cpuMsPerName: (user + system) / 1000 / questions.length };
    } finally {
      await client.close();
    }
  } finally {
    await emulator.close();
  }
}
