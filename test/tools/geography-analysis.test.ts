// Tests geography for analysts: several names, a state in a name, first rows of each state, pages, prefixes, rows as a file.
import { createHash } from "node:crypto";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import * as z from "zod/v4";
import { operations } from "../operations.ts";
import { parseCsv } from "../support/csv.ts";
import type { Bench } from "./bench.ts";
import { createFreshBench } from "./fresh-bench.ts";
import { describeLatestRevision } from "./revisions.ts";

const District = z.object({
  code: z.string(),
  name: z.string(),
  state: z.string(),
  stateName: z.string(),
  mandals: z.int(),
});
/** The rows with the facts that are stated once for all of them. */
function rowsIn(structured: object) {
  const { rows, common, stateNames } = Object(structured);
  const full = z
    .array(z.looseObject({}))
    .parse(rows)
    .map((row) => ({ ...common, ...row }));
  return z.array(District).parse(full.map((row) => ({ ...row, stateName: stateNames[row.state] })));
}

async function readDistricts({ service }: Bench) {
  // The emulator's rate limit uses its own clock.
  service.clock.advance(120_000);
  const { states } = await service.ok(operations.listPlaygroundStates);
  const lists = states.map(async (state) => {
    const { districts } = await service.ok(operations.listPlaygroundDistricts, { query: { state: state.code } });
    return districts.map((district) => ({ ...district, state }));
  });
  return (await Promise.all(lists)).flat();
}

const byMandals = { level: "district", by: "mandalCount" } as const;

describeLatestRevision(
  (bench, revision) => {
    const find = async (args: Readonly<Record<string, unknown>>) =>
      (await bench().ok("find_district", args)).structured;

    test("several names are answered in one call, each with the same answer as in a separate call", async () => {
      const names = ["Nizamabad", "Allahabad", "Hamirpur", "Nizambad", "Nowhereville", "Kerala", "Patna, Bihar"];
      const { answers, vintage, summary } = Object(await find({ names }));
      expect(answers).toHaveLength(names.length);
      for (const [at, name] of names.entries()) {
        const { summary: own, nextStep: _next, vintage: read, ...answer } = Object(await find({ name }));
        const { note, query, ...inList } = answers[at];
        // A separate answer leaves out what its sentence says.
        expect({ query, ...inList }).toMatchObject({ query: name, ...answer });
        expect(vintage.startsWith(`${read}, `)).toBe(true);
        if (note !== undefined) expect(own).toContain(note);
      }
      expect(summary).toMatch(
        /^Of 7 names: 3 found, 1 ambiguous \("Hamirpur"\), 1 guessed \("Nizambad"\), 1 state \("Kerala"\), 1 not found \("Nowhereville"\)\. Not in this catalog: /,
      );
    });

    test.each(["Patna (BR)", "patna bihar", "Patna, br"])("%s is read as Patna in Bihar", async (name) => {
      const matches = [{ name: "Patna", stateCode: "BR" }];
      expect(await find({ name })).toMatchObject({ matches, certainty: "exact" });
      const readAs = { name: expect.stringMatching(/^patna$/i), state: "BR" };
      expect(await find({ names: [name] })).toMatchObject({
        answers: [{ readAs, certainty: "exact", matches: [{ name: "Patna" }] }],
      });
    });

    test('two names joined by "or" match both districts', async () => {
      expect(await find({ name: "Raigad or Raigarh" })).toMatchObject({
        ambiguous: true,
        matches: [
          { name: "Raigad", stateCode: "MH" },
          { name: "Raigarh", stateCode: "CG" },
        ],
      });
    });

    test("guesses far below the best one are left out", async () => {
      const { matches } = z
        .looseObject({ matches: z.array(z.looseObject({ score: z.number() })) })
        .parse(await find({ name: "Bangalor" }));
      const scores = matches.map(({ score }) => score);
      expect(scores.length).toBeGreaterThan(0);
      expect(Math.max(...scores) - Math.min(...scores)).toBeLessThanOrEqual(0.1);
    });

    test("the mean of mandals per district is the mean over the districts, not over the states", async () => {
      const args = { level: "state", by: "mandalsPerDistrict", states: ["TG", "GA", "KA"] };
      const { structured } = await bench().ok("rank_divisions", args);
      const { districts, mandals, mean } = Object(structured["totals"]);
      expect(mean).toBeCloseTo(mandals / districts, 2);
    });

    test("a name that contains a state's name is not split if it exists as a whole", async () => {
      for (const name of ["North Goa", "New Delhi"]) {
        const [found] = Object(await find({ names: [name] })).answers;
        expect(found).toMatchObject({ certainty: "exact", matches: [{ name }] });
        expect(found).not.toHaveProperty("readAs");
      }
    });

    test("the pages that page.nextOffset leads to contain each row once and have no next step", async () => {
      const all = await readDistricts(bench());
      const seen: string[] = [];
      let args: Readonly<Record<string, unknown>> = { ...byMandals, limit: 100 };
      for (let page = 0; page < 8; page++) {
        const { structured } = await bench().ok("rank_divisions", args);
        seen.push(...rowsIn(structured).map(({ code }) => code));
        expect(structured["totalRows"]).toBe(784);
        expect(structured).not.toHaveProperty("nextStep");
        const { nextOffset } = Object(structured["page"] ?? {});
        expect(nextOffset).toBe(page === 7 ? undefined : (page + 1) * 100);
        args = { ...byMandals, limit: 100, offset: nextOffset };
      }
      expect(seen.toSorted()).toEqual(all.map(({ code }) => code).toSorted());
    });

    test("startsWith ignores case, spaces and diacritics", async () => {
      const all = await readDistricts(bench());
      const expected = all.filter(({ name }) => /^north/i.test(name)).map(({ code }) => code);
      for (const startsWith of ["north", "NORTH", " Nörth"]) {
        const { structured } = await bench().ok("rank_divisions", { level: "district", by: "name", startsWith });
        const codes = rowsIn(structured).map(({ code }) => code);
        expect(codes.toSorted()).toEqual(expected.toSorted());
        expect(structured).toMatchObject({ complete: true, totalRows: expected.length });
      }
    });

    test("save_table saves all rows as CSV, and the result has the file instead of the rows", async () => {
      const all = await readDistricts(bench());
      const fileName = `all-${revision}.csv`;
      // The limit and offset apply only to rows that are shown, and none are.
      const call = { source: "rank_divisions", arguments: { ...byMandals, limit: 2, offset: 5 }, fileName };
      const { structured } = await bench().ok("save_table", call);
      const path = join(bench().downloadDir, fileName);
      const bytes = await readFile(path);
      const sha256 = createHash("sha256").update(bytes).digest("hex");
      expect(structured).toMatchObject({ path, rows: 784, sha256, totalRows: 784, complete: true });
      const [header, ...rows] = parseCsv(bytes.toString());
      expect(header).toEqual(["districtCode", "name", "stateCode", "stateName", "mandalCount"]);
      const cells = all.map(({ code, name, state, mandalCount }) => [code, name, state.code, state.name, mandalCount]);
      expect(rows.toSorted()).toEqual(cells.map((row) => row.map(String)).toSorted());
      if (process.platform !== "win32") expect((await stat(path)).mode & 0o777).toBe(0o600);
    });

    test("save_table overwrites no file, accepts no path, and reads nothing if the name is taken", async () => {
      const name = `mine-${revision}.csv`;
      await writeFile(join(bench().downloadDir, name), "mine");
      const call = { source: "rank_divisions", arguments: byMandals };
      await bench().expectNothingSent(async () => {
        const failed = await bench().refuses("save_table", { ...call, fileName: name }, "/fileName");
        expect(failed.next).toBe("Choose another fileName.");
        for (const fileName of ["../x.csv", "/tmp/x.csv", "a/b.csv", ".x", "x.csv\n", ""])
          await bench().refuses("save_table", { ...call, fileName }, "/fileName");
      });
      expect(await readFile(join(bench().downloadDir, name), "utf8")).toBe("mine");
    });

    test("save_table writes either a file with all rows or no file", async () => {
      const own = await createFreshBench(bench(), revision);
      await bench().service.admin("POST", "geography", { districts: { GA: { status: 502 } } });
      const save = (args: object, fileName: string) => ({ source: "rank_divisions", arguments: args, fileName });
      const failed = await own.fails("save_table", save(byMandals, "part.csv"), "upstream_unavailable");
      expect(failed).toMatchObject({ retryable: true, sideEffect: "none" });
      // Districts of states that can be read are saved.
      const rest = await own.ok("save_table", save({ ...byMandals, states: ["KL"] }, `kl-${revision}.csv`));
      expect(rest.structured).toMatchObject({ rows: 14 });
      expect(await readdir(bench().downloadDir)).not.toContain("part.csv");
    });

    test("save_table refuses a listing call that is not offered", async () => {
      const own = await createFreshBench(bench(), revision, { MIC_TOOLSETS: "geography" });
      const { text } = await own.call("save_table", { source: "list_jobs", arguments: {}, fileName: "jobs.csv" });
      expect(text).toContain("list_jobs is not offered here");
      expect(await readdir(bench().downloadDir)).not.toContain("jobs.csv");
    });
  },
  { env: { MIC_GEOGRAPHY_RATE_LIMIT: "600" } },
);
