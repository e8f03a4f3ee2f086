// Tests find_district with names as files and reports write them: with marks, numbers, codes, a second name and a state. The names are
// the directory's, and the forms are those of public files.
import fc from "fast-check";
import { expect, test } from "vitest";
import * as z from "zod/v4";
import { readRecord } from "../../src/core/package-files.ts";
import { runCount } from "../support/thorough.ts";
import type { Args } from "../tools/bench.ts";
import { describeLatestRevision, FAST_GEOGRAPHY } from "../tools/revisions.ts";
import { emulatedDistricts } from "./known-country.ts";

const MARKS: readonly ((name: string, number: number) => string)[] = [
  (name, number) => `${name}[${number}]`,
  (name, number) => `${name} [${number}]`,
  (name) => `${name}[note]`,
  (name) => `${name}¹²`,
  (name) => `${name}*`,
  (name) => `${name} †`,
  (name, number) => `${name} #${number}`,
  (name, number) => `${number}. ${name}`,
  (name, number) => `${number}) ${name}`,
  (name, number) => `(${number}) ${name}`,
  (name, number) => `${name} 80${number}`,
  (name, number) => `80${number} - ${name}`,
];

const CODE_FORMS: readonly ((name: string, code: string) => string)[] = [
  (name, code) => `${name} (${code})`,
  (name, code) => `${code} - ${name}`,
  (name, code) => `${name} ${code}`,
  (name, code) => `${name}, LGD code ${code}`,
  (_name, code) => code,
  (_name, code) => `0${code}`,
];

/** Public lists' forms of a name with its other name, and with its state. */
const PAIR_FORMS: readonly ((name: string, other: string, state: string, code: string) => string)[] = [
  (name, other, state) => `${name} (${other}), ${state}`,
  (name, other, _state, code) => `${name} [${other}] - ${code}`,
  (name, other, state) => `${name} (${other}) (${state})`,
  (name, other, state) => `${name}/${other}, ${state}`,
  (name, other, state) => `${state}: ${name} alias ${other}`,
  (name, other, state) => `${name} (${other} district, ${state})`,
  (name, other, _state, code) => `${name} (${other} (${code}))`,
  (name, other, state) => `${other} [${name} (${state})]`,
  (name, _other, state) => `${name} (the old name is in the gazette), ${state}`,
];

const Answers = z.array(
  z.looseObject({
    query: z.string(),
    certainty: z.string().optional(),
    ambiguous: z.literal(true).optional(),
    readAs: z.object({ name: z.string().optional(), state: z.string().optional() }).optional(),
    matches: z.array(z.looseObject({ districtCode: z.string(), stateCode: z.string() })),
    note: z.string().optional(),
  }),
);
type Answer = z.infer<typeof Answers>[number];

const BATCH = 50;
const MAX_QUERY = 80;
const codesOf = ({ matches }: Answer) => matches.map(({ districtCode }) => districtCode);
const meaningOf = (answer: Answer) => ({
  codes: codesOf(answer),
  certainty: answer.certainty,
  ambiguous: answer.ambiguous,
});
const sample = emulatedDistricts.filter((_district, at) => at % runCount(13, 1) === 0);
const states = new Map(readRecord("states").map(({ code = "", state = "" }) => [code, state]));

/** Districts with another name that no other district of the state has. */
const renamed = readRecord("districts").flatMap(({ district = "", state = "", lgdCode = "", otherNames = "" }) =>
  otherNames.split(" + ").flatMap((text) => {
    const [, other] = /^(.+) \((?:former|spelling)/.exec(text) ?? [];
    return other === undefined ? [] : { district, state, code: lgdCode, other };
  }),
);

describeLatestRevision((bench) => {
  async function ask(names: readonly string[], args: Args = {}): Promise<readonly Answer[]> {
    const batches = Array.from({ length: Math.ceil(names.length / BATCH) }, (_, at) =>
      names.slice(at * BATCH, (at + 1) * BATCH),
    );
    const answers: Answer[] = [];
    for (const batch of batches) {
      const { structured } = await bench().ok("find_district", { ...args, names: batch });
      answers.push(...Answers.parse(structured["answers"]));
    }
    return answers;
  }

  test.each(MARKS.map((mark) => ({ form: mark("Patna", 7), mark })))(
    "a name with a mark, as in $form, means what the name alone means",
    async ({ mark }) => {
      const plain = await ask(sample.map(({ name }) => name));
      const marked = await ask(sample.map(({ name }, at) => mark(name, 1 + (at % 9))));
      expect(marked.map(meaningOf)).toEqual(plain.map(meaningOf));
    },
  );

  test("any mark and number beside a name change no state and no certainty", async () => {
    const number = fc.integer({ min: 0, max: 99 });
    const notation = fc.constantFrom("[N]", " [N]", "#N", "*N", "**", " †", " ‡ N", "¹", " [N][N]");
    const cases = fc.array(fc.record({ district: fc.constantFrom(...emulatedDistricts), notation, number }), {
      minLength: BATCH,
      maxLength: BATCH,
    });
    const property = fc.asyncProperty(cases, async (rows) => {
      const plain = await ask(rows.map(({ district }) => district.name));
      const marked = await ask(
        rows.map(({ district, notation, number }) => district.name + notation.replaceAll("N", String(number))),
      );
      expect(marked.map(meaningOf)).toEqual(plain.map(meaningOf));
      expect(marked.filter(({ readAs }) => readAs?.state !== undefined)).toEqual([]);
    });
    await fc.assert(property, { numRuns: runCount(4, 100) });
  });

  test.each(CODE_FORMS.map((form) => ({ example: form("Patna", "212"), form })))(
    "a name with its own LGD code, as in $example, is exact",
    async ({ form }) => {
      const answers = await ask(sample.map(({ name, code }) => form(name, code)));
      expect(answers.map(codesOf)).toEqual(sample.map(({ code }) => [code]));
      expect(answers.filter(({ certainty, ambiguous }) => certainty !== "certain" || ambiguous)).toEqual([]);
    },
  );

  test("a number that is the code of another district is reported with that district", async () => {
    const { structured } = await bench().ok("find_district", { name: "Patna (490)" });
    expect(structured).toMatchObject({ certainty: "certain", matches: [{ districtCode: "212" }] });
    expect(structured["summary"]).toMatch(/490 is the LGD code of .+ in Maharashtra \(MH\)/);
    const [inList] = await ask(["Patna (490)"]);
    expect(inList?.note).toContain("490 is the LGD code of");
  });

  test.each([
    ["999, which is no district's code,", "999", /^No district has the LGD code 999\.(?!.*state).*Census codes/],
    [
      "an abolished district",
      "Shahdara",
      /^"Shahdara" in Delhi \(DL\) was abolished in \d{4} and is part of (?!.*Bhandara)/,
    ],
  ])("%s is not guessed from similar names", async (_what, name, summary) => {
    const { structured } = await bench().ok("find_district", { name });
    expect(structured).toMatchObject({ matches: [], summary: expect.stringMatching(summary) });
  });

  test.each(PAIR_FORMS.map((form) => ({ example: form("Munger", "Monghyr", "Bihar", "BR"), form })))(
    "a name with a second name and its state, as in $example, is one district",
    async ({ form }) => {
      const codes = new Map([...states].map(([code, state]) => [state, code]));
      const rows = renamed
        .map((row) => ({ ...row, query: form(row.district, row.other, row.state, codes.get(row.state) ?? "") }))
        .filter(({ query }, at) => query.length <= MAX_QUERY && at % runCount(9, 1) === 0);
      const answers = await ask(rows.map(({ query }) => query));
      const wrong = answers.filter(
        (answer, at) =>
          answer.certainty !== "guess" && answer.ambiguous !== true && codesOf(answer)[0] !== rows[at]?.code,
      );
      expect(wrong).toEqual([]);
      const certain = answers.filter(({ certainty, ambiguous }) => certainty !== "guess" && ambiguous !== true);
      expect(certain.length).toBeGreaterThanOrEqual(Math.floor(0.99 * answers.length));
    },
  );

  test.each([
    ["Munger/Nadia", ["207", "306"]],
    ["Burdwan (Bardhaman)", ["704", "306"]],
    ["Munger (Monghyr (Nadia))", ["207", "306"]],
  ])("%s, which may mean two districts, is ambiguous", async (query) => {
    const [answer] = await ask([query]);
    expect(answer?.ambiguous).toBe(true);
    expect(answer?.matches).toHaveLength(2);
  });

  test.each(["Bengaluru (Bangalore) Urban", "Sirmaur (Sirmour)", "Thoothukudi (Tuticorin)", "Amethi (any words)"])(
    "%s is one district without its state",
    async (query) => {
      const [answer] = await ask([query]);
      expect(answer?.certainty).toBe("certain");
      expect(answer?.matches).toHaveLength(1);
    },
  );

  test.each(["Jaipur (Rural)", "Xyz (Patna)", "Patna or Xyz", "Munger/Xyz", "Munger (Monghyr (UP))"])(
    "%s is not certain",
    async (query) => {
      const [answer] = await ask([query]);
      expect(answer?.certainty ?? "guess").toBe("guess");
    },
  );

  test.each([
    ["East", "225", "78"],
    ["West", "228", "85"],
    ["North", "226", "80"],
    ["South", "227", "83"],
  ])("%s District is that of Sikkim if the state is given, otherwise ambiguous", async (name, sikkim, delhi) => {
    const query = `${name} District`;
    const queries = [query, name, `District ${name}`, `${query}, Sikkim`];
    for (const answer of await ask(queries, { state: "Sikkim" })) {
      expect(codesOf(answer)).toEqual([sikkim]);
      expect(answer.certainty).toBe("certain");
    }
    const [alone] = await ask([query]);
    expect(alone?.ambiguous).toBe(true);
    expect(alone && codesOf(alone).toSorted()).toEqual([sikkim, delhi].toSorted());
  });

  // No source was found that has "South District" as a former name of these districts, so the record does not have it.
  test.each([
    ["West", "Tripura", "272", "certain"],
    ["North", "Tripura", "270", "certain"],
    ["South", "Tripura", "271", "certain"],
    ["South", "Andaman And Nicobar Islands", "602", "guess"],
  ])("%s District in %s is its district %s, as %s", async (name, state, code, certainty) => {
    const district = `${name} District`;
    for (const answer of [...(await ask([district], { state })), ...(await ask([`${district}, ${state}`]))]) {
      expect(codesOf(answer)).toEqual([code]);
      expect(answer.certainty).toBe(certainty);
    }
  });

  test("a name that another state has is reported with that state, in a list as alone", async () => {
    const names = ["Adilabad", "Hyderabad", "Nowhereville"];
    const [one, two, none] = await ask(names, { state: "Andhra Pradesh" });
    expect(one?.note).toBe(
      'No district like "Adilabad" in Andhra Pradesh (AP). Elsewhere: Adilabad in Telangana (TG).',
    );
    expect(two?.note).toContain("Elsewhere: Hyderabad in Telangana (TG).");
    expect(none?.note).not.toContain("Elsewhere");
    const { structured } = await bench().ok("find_district", { name: "Adilabad", state: "AP" });
    expect(structured["nextStep"]).toMatchObject({
      arguments: { name: "Adilabad", state: "TG" },
      why: "finds it in TG",
    });
  });

  test("an abolished district with its state in the name is reported as abolished", async () => {
    const [answer] = await ask(["Mahe, Puducherry"]);
    expect(answer?.note).toContain("was abolished in 2026");
  });
}, FAST_GEOGRAPHY);
