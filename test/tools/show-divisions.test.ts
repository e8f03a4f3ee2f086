// Tests show_divisions: its view in a real browser.
import { describe, expect, test } from "vitest";
import * as z from "zod/v4";
import { CHROMIUM, pagesForFile } from "../apps/browser.ts";
import { findProblems, type Host, measureOverflow } from "../apps/host.ts";
import { expectShown, setUpView } from "../apps/view-test.ts";

const pages = pagesForFile();

const divisionNames = (host: Host): Promise<string[]> => host.frame.locator("tbody td:first-child").allInnerTexts();
const readColumn = async (host: Host, column: number): Promise<readonly number[]> =>
  (await host.frame.locator(`tbody td:nth-child(${column})`).allInnerTexts()).map((text) =>
    Number(text.replaceAll(",", "")),
  );

const sortDescending = (counts: readonly number[]): readonly number[] => [...counts].sort((a, b) => b - a);

describe.skipIf(CHROMIUM === undefined)("the view of divisions (needs Chromium)", () => {
  test("the view shows every state as rank_divisions does, and filters names and tiles regardless of case and accents", async () => {
    const { connection, draw } = await setUpView("v2-legacy", pages());
    const host = await draw("show_divisions", { level: "state" });
    await expectShown(host, "36 of 36", "Coverage: 36 of 36 states, complete", "Source updated", "Not a map");
    expect(await host.frame.locator("tbody tr").count()).toBe(20);
    await host.button("Show all 36").click();
    const ranking = { level: "state", by: "mandalCount", limit: 100 };
    const { structured } = await connection.callTool("rank_divisions", ranking);
    const rows = z.array(z.object({ name: z.string(), mandals: z.number() })).parse(structured?.["rows"]);
    expect(await readColumn(host, 4)).toEqual(rows.map(({ mandals }) => mandals));
    expect([...(await divisionNames(host))].sort()).toEqual(rows.map(({ name }) => name).sort());
    expect(await host.frame.locator(".tile").count()).toBe(36);
    await host.frame.getByLabel("Filter").fill("PRÁDESH");
    await expectShown(host, "5 of 36");
    expect((await divisionNames(host)).every((name) => name.endsWith("Pradesh"))).toBe(true);
    expect(await host.frame.locator(".tile").count()).toBe(5);
    await host.frame.getByLabel("Filter").fill("no such name");
    await expectShown(host, "0 of 36", "No name matches the filter.");
    expect(host.consoleErrors).toEqual([]);
  });

  test("the view sorts by its column headings, with mouse or keyboard, and announces the order to screen readers", async () => {
    const { draw } = await setUpView("v2-modern", pages());
    const host = await draw("show_divisions", { level: "state" });
    await expectShown(host, "States by mandals");
    await host.button("Show all 36").click();
    const heading = (name: string) => host.frame.getByRole("columnheader", { name });
    expect(await heading("Mandals").getAttribute("aria-sort")).toBe("descending");
    await host.button("Districts").focus();
    await host.page.keyboard.press("Enter");
    await expectShown(host, "States by districts");
    const counts = await readColumn(host, 2);
    expect(counts).toEqual(sortDescending(counts));
    expect(await heading("Districts").getAttribute("aria-sort")).toBe("descending");
    await host.page.keyboard.press("Space");
    await expect.poll(() => readColumn(host, 2)).toEqual([...counts].reverse());
    await host.button("State").click();
    await expect.poll(async () => (await divisionNames(host))[0]).toBe("Andaman And Nicobar Islands");
  });

  test("the view exports its rows as CSV with coverage and vintage on top, and without formulas", async () => {
    const { connection, draw } = await setUpView("v2-modern", pages());
    const { view: structured } = await connection.callTool("show_divisions", { level: "state", states: ["GA"] });
    const row = { code: "XX", name: '=HYPERLINK("http://h")', districtCount: 1, mandalCount: 2, mandalsPerDistrict: 2 };
    const structuredContent = { ...structured, rows: [row], totalRows: 1 };
    const args = { level: "state" };
    const host = await draw("show_divisions", args, { structuredContent });
    await expectShown(host, "=HYPERLINK");
    await host.button("Export CSV").click();
    await expectShown(host, "Handed to the host as a file.");
    const [{ uri, text } = { uri: "", text: "" }] = host.downloads;
    expect(uri).toBe("file:///states.csv");
    const lines = text.split("\r\n");
    expect(lines[0]).toMatch(/^# coverage: 1 of 1 states, complete$/);
    expect(lines.slice(-3)).toEqual([
      "code,name,districtCount,mandalsPerDistrict,mandalCount",
      `XX,"'=HYPERLINK(""http://h"")",1,2,2`,
      "",
    ]);
    const withoutCapabilities = await draw("show_divisions", args, { capabilities: {} });
    await withoutCapabilities.button("Export CSV").click();
    await expectShown(withoutCapabilities, /lets nothing out of the frame|Copied as CSV/);
  });

  test("a district's row has its state, and a list cut at 100 rows reports the cut", async () => {
    const { draw } = await setUpView("v2-modern", pages());
    const host = await draw("show_divisions", { level: "district" });
    await expectShown(host, "Districts by mandals", "100 of 784");
    await host.button("Show all 100").click();
    expect(await host.frame.locator("tbody tr").count()).toBe(100);
    const counts = await readColumn(host, 3);
    expect(counts).toEqual(sortDescending(counts));
    expect(await host.frame.locator(".tile").count()).toBe(0);
    expect(await measureOverflow(host)).toBe(0);
  });

  test("a count of 0 is shown as missing, and a heading keeps its arrow in its line at 320 px", async () => {
    const { connection, draw } = await setUpView("v2-modern", pages());
    const { view: structured } = await connection.callTool("show_divisions", { level: "district", states: ["GA"] });
    const row = { districtCode: 1, name: "Mumbai", stateName: "Maharashtra", mandalCount: 0 };
    const others = { ...row, districtCode: 2, name: "Kangra", mandalCount: 41 };
    const totals = { mandals: 41, districts: 2, max: 41, min: 0 };
    const structuredContent = { ...structured, rows: [others, row], totalRows: 2, totals };
    const host = await draw("show_divisions", { level: "district" }, { width: 320, structuredContent });
    await expectShown(host, "Mumbai", "The catalog lists no mandals for some of them (–).");
    expect(await host.text()).not.toContain("Fewest");
    expect(await host.frame.locator("tbody tr").last().innerText()).toMatch(/–$/m);
    const tops = `[...document.querySelectorAll(".sort")].find((each) => each.textContent.includes("▼"))`;
    const lines = await host.frame.evaluate(
      `[...${tops}.querySelector(".unbroken").getClientRects()].length + " " + (${tops}.querySelector(".arrow").offsetHeight > 20)`,
    );
    expect(lines).toBe("1 false");
    expect(await measureOverflow(host)).toBe(0);
  });

  test("missing districts are listed on top of the view, with a button that reads them", async () => {
    const { connection, draw } = await setUpView("v2-modern", pages());
    const args = { level: "district", states: ["GA"], waitSeconds: 5 };
    const { view: structured } = await connection.callTool("show_divisions", args);
    const missing = [{ states: ["GA"], reason: "not read yet" }];
    const coverage = { statesTotal: 1, statesRead: 0, complete: false, missing };
    const nextStep = { tool: "show_divisions", arguments: args, why: "1 missing" };
    const structuredContent = { ...structured, rows: [], totalRows: 0, coverage, nextStep };
    const host = await draw("show_divisions", args, { structuredContent });
    await expectShown(host, "Missing: GA: not read yet", "not complete", "There are no rows.");
    await host.button("Read the missing lists").click();
    await expectShown(host, "3 of 3", "1 of 1 states, complete");
    expect(host.calls).toEqual([{ name: "show_divisions", arguments: args }]);
  });

  test("a code without a tile is only in the table, and 64 states and a long name do not overflow", async () => {
    const { connection, draw } = await setUpView("v2-modern", pages());
    const { view: structured } = await connection.callTool("show_divisions", { level: "state" });
    const rows = Array.from({ length: 64 }, (_, at) => ({
      code: at < 2 ? ["GA", "KL"][at] : `Z${at}`,
      name: at === 5 ? "n".repeat(200) : `State ${at}`,
      districtCount: at,
      mandalCount: at * 1_000_000,
      mandalsPerDistrict: 1.5,
    }));
    const structuredContent = { ...structured, rows, totalRows: 64 };
    const host = await draw("show_divisions", { level: "state" }, { width: 320, structuredContent });
    await expectShown(host, "64 of 64");
    await host.button("Show all 64").click();
    expect(await host.frame.locator(".tile").count()).toBe(2);
    expect(await measureOverflow(host)).toBe(0);
  });

  test("reduced motion turns animations off, and forced colors keep bars and tiles visible", async () => {
    const { draw } = await setUpView("v2-modern", pages());
    const host = await draw("show_divisions", { level: "state" });
    await expectShown(host, "36 of 36");
    const styleOf = (selector: string, property: string): Promise<unknown> =>
      host.frame.evaluate(`getComputedStyle(document.querySelector("${selector}")).getPropertyValue("${property}")`);
    await host.page.emulateMedia({ reducedMotion: "no-preference" });
    expect(await styleOf(".bar", "transition-duration")).toBe("0.3s");
    const [bar, tile] = [await styleOf(".bar", "background-color"), await styleOf(".tile", "background-color")];
    await host.page.emulateMedia({ reducedMotion: "reduce", forcedColors: "active" });
    expect(await styleOf(".bar", "transition-duration")).toBe("0s");
    expect(await styleOf(".bar", "background-color")).toBe(bar);
    expect(await styleOf(".tile", "background-color")).toBe(tile);
  });

  test("the view of divisions does not overflow at any width or in any theme, and axe finds no violation", async () => {
    const { draw } = await setUpView("v2-modern", pages());
    const host = await draw("show_divisions", { level: "state" });
    await expectShown(host, "36 of 36");
    expect(await findProblems(host)).toEqual([]);
    const districts = await draw("show_divisions", { level: "district", states: ["Kerala", "Goa"] });
    await expectShown(districts, "17 of 17");
    expect(await findProblems(districts)).toEqual([]);
  });
});
