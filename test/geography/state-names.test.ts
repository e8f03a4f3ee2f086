// Tests the forms in which files write states: each state is found in each form, and an answer names a state that was found by another
// name than its own.
import fc from "fast-check";
import { expect, test } from "vitest";
import * as z from "zod/v4";
import { readRecord } from "../../src/core/package-files.ts";
import { runCount } from "../support/thorough.ts";
import type { Args } from "../tools/bench.ts";
import { describeLatestRevision, FAST_GEOGRAPHY } from "../tools/revisions.ts";

interface StateRow {
  readonly name: string;
  readonly code: string;
  readonly lgdCode: string;
}

const FORMS: readonly ((state: StateRow) => string)[] = [
  ({ code }) => `IN-${code}`,
  ({ code }) => `in-${code.toLowerCase()}`,
  ({ code }) => `${code.charAt(0)}.${code.charAt(1)}.`,
  ({ name, code }) => `${name} (${code})`,
  ({ name, code }) => `${name} [IN-${code}]`,
  ({ name, code }) => `${code} - ${name}`,
  ({ name, code }) => `${code}: ${name}`,
  ({ name, code }) => `${name}/${code}`,
  ({ name }) => name.toUpperCase(),
  ({ name }) => name.toLowerCase().replaceAll(" ", "-"),
  ({ name }) => name.replaceAll(" ", "_"),
  ({ name }) => name.replaceAll(" And ", " & "),
  ({ name }) => `State of ${name}`,
  ({ name }) => `Government of ${name}`,
  ({ name }) => `${name}, India`,
  ({ name }) => `${name}[2]`,
  ({ name }) => `${name}*`,
  ({ lgdCode }) => `0${lgdCode}`,
  ({ lgdCode }) => `LGD ${lgdCode}`,
  ({ name, lgdCode }) => `${lgdCode} - ${name}`,
  ({ name, lgdCode }) => `${name} (${lgdCode})`,
];

const states: readonly StateRow[] = readRecord("states").map(({ state = "", code = "", lgdCode = "" }) => {
  return { name: state, code, lgdCode };
});

const otherNames = readRecord("states").flatMap(({ state = "", code = "", otherNames = "" }) =>
  otherNames.split(" + ").flatMap((text) => {
    const [, other = "", kind] = /^(.+) \((\w+), [\w-]+\)$/.exec(text) ?? [];
    // Two of the names are the state's own in another notation.
    const isOwn = other.includes(state.replace("The ", "").replaceAll(" And ", " and "));
    return kind === "name" && !isOwn ? [{ name: state, code, other }] : [];
  }),
);

/** All codes and names of each state in the record. */
const recordedNames = readRecord("states").flatMap(({ state = "", code = "", otherNames = "" }) =>
  [state, code, ...otherNames.split(" + ").map((text) => text.replace(/ \(\w+, [\w-]+\)$/, ""))].map((text) => {
    return { code, text };
  }),
);

/** Notations that are right for codes, too. */
const NOTATIONS: readonly ((text: string, code: string) => string)[] = [
  (text) => text,
  (text) => text.toUpperCase(),
  (text) => ` ${text.toLowerCase()} `,
  (text) => `${text}, India`,
  (text) => `${text}*`,
  (text) => `${text}[2]`,
  (text) => text.replaceAll(" ", "_"),
  (text) => text.replaceAll("&", " and "),
  (text, code) => `${text} (${code})`,
  (text, code) => `${text} [IN-${code}]`,
  (text, code) => `${code} - ${text}`,
];

const ALL_STATES = { level: "state", by: "name", limit: 100 };
const Rows = z.object({ rows: z.array(z.object({ code: z.string() })), summary: z.string() });

describeLatestRevision((bench) => {
  const rank = async (args: Args) =>
    Rows.parse((await bench().ok("rank_divisions", { ...ALL_STATES, ...args })).structured);
  const codesOf = async (texts: readonly string[]) => (await rank({ states: texts })).rows.map(({ code }) => code);

  test.each(FORMS.map((form) => ({ form, example: form({ name: "Bihar", code: "BR", lgdCode: "10" }) })))(
    "each of the 36 states is found as in $example, without a remark",
    async ({ form }) => {
      const { rows, summary } = await rank({ states: states.map(form) });
      expect(rows.map(({ code }) => code).toSorted()).toEqual(states.map(({ code }) => code).toSorted());
      expect(summary).not.toContain("was read as");
      for (const state of states) expect(await codesOf([form(state)])).toEqual([state.code]);
    },
  );

  test("each recorded code and name in each notation is its own state, and typing errors lead to no other", async () => {
    const written = fc
      .tuple(fc.constantFrom(...recordedNames), fc.constantFrom(...NOTATIONS))
      .map(([{ text, code }, notation]) => ({ code, text: notation(text, code) }));
    const misspelled = fc
      .tuple(
        fc.constantFrom(...recordedNames.filter(({ text }) => text.length > 4)),
        fc.nat(),
        fc.constantFrom("", "a", "r"),
      )
      .map(([{ text, code }, number, letter]) => {
        const at = number % text.length;
        return { code, text: text.slice(0, at) + letter + text.slice(at + 1) };
      });
    const property = fc.asyncProperty(
      fc.array(written, { minLength: 30, maxLength: 30 }),
      misspelled,
      async (all, wrong) => {
        expect((await codesOf(all.map(({ text }) => text))).toSorted()).toEqual(
          [...new Set(all.map(({ code }) => code))].toSorted(),
        );
        const { structured } = await bench().call("rank_divisions", { ...ALL_STATES, states: [wrong.text] });
        expect(Rows.safeParse(structured).data?.rows.map(({ code }) => code) ?? [wrong.code]).toEqual([wrong.code]);
      },
    );
    await fc.assert(property, { numRuns: runCount(10, 300) });
  });

  test.each([
    ["Delhi (NCT)", "DL"],
    ["Delhi NCT", "DL"],
    ["DN HAVELI AND DD", "DH"],
    ["D & N HAVELI", "DH"],
    ["26", "DH"],
    ["Kerela", "KL"],
    ["Gujrat", "GJ"],
    ["Karnatka", "KA"],
    ["Odisha (Orissa)", "OD"],
    ["Uttarakhand (Uttaranchal)", "UK"],
  ])("%s is the state %s", async (text, code) => {
    expect(await codesOf([text])).toEqual([code]);
  });

  test("a state found by a former name is named in the answer of each tool", async () => {
    for (const { name, code, other } of otherNames) {
      const { structured } = await bench().call("list_districts", { state: other });
      expect(structured?.["summary"]).toContain(`"${other}" was read as ${name} (${code}).`);
      const { rows, summary } = await rank({ states: [other] });
      expect(rows).toEqual([expect.objectContaining({ code })]);
      expect(summary).toContain(`"${other}" was read as ${name} (${code}).`);
    }
    const { structured } = await bench().ok("find_district", { name: "Salem", state: "Madras" });
    expect(structured["summary"]).toContain('"Madras" was read as Tamil Nadu (TN).');
  });

  const regions = ["North-East", "north east", "North", "West", "Eastern India", "Central"];
  test.each(["Bihar (UP)", "10 - Goa", "Bihar/Goa", "Springfield", ...regions])("%s is not one state", async (text) => {
    await bench().fails("rank_divisions", { level: "state", by: "name", states: [text] }, "not_found");
  });

  test("a text with several states is read as a list if one may be given, otherwise refused", async () => {
    expect(await codesOf(["AP,TG"])).toEqual(["AP", "TG"]);
    const refused = await bench().fails("list_districts", { state: "AP,TG" }, "not_found");
    expect(refused.next).toContain('["AP","TG"]');
  });

  test("a union territory is not called a state", async () => {
    const summaryOf = async (name: string) => (await bench().ok("find_district", { name })).structured["summary"];
    expect(await summaryOf("Delhi")).toMatch(/^"Delhi" is the union territory Delhi \(DL\)/);
    expect(await summaryOf("Jammu and Kashmir")).toContain("is the union territory Jammu And Kashmir (JK)");
    expect(await summaryOf("Kerala")).toContain("is the state Kerala (KL)");
    const { structured } = await bench().ok("find_district", { names: ["Delhi", "Kerala"] });
    expect(structured["summary"]).toContain('1 state ("Kerala"), 1 union territory ("Delhi")');
  });
}, FAST_GEOGRAPHY);
