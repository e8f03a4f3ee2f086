// Runs the official suite against the product: the scenarios for any server, and those of the skills extension. Its tasks scenarios need
// the suite's own tools; test/mcp/tasks follows tasks with the official client instead.
import { describe, expect, test } from "vitest";
import { startHttp } from "../mcp/http/server.ts";
import { ANY_SERVER, failedChecks, findFailures, runScenario } from "./any-server.ts";
import { isInstalled } from "./suite.ts";

const isRequested = process.env["CONFORMANCE"] !== undefined && isInstalled();
const skipNote = isRequested ? "" : " (skipped: npm run conformance installs the suite and runs this)";

const LIMIT_MS = 180_000;

const SKILLS = ["sep-2640-skills-directory", "sep-2640-skills-enumeration", "sep-2640-skills-manifest"];

describe.skipIf(!isRequested)(`the official suite${skipNote}`, () => {
  test.each(Object.entries(ANY_SERVER))(
    "%s: mic-mcp serve --http passes the scenarios for any server",
    { timeout: LIMIT_MS },
    async (revision, scenarios) => {
      const { url } = await startHttp({ args: ["--emulator"] });
      for (const scenario of scenarios) expect(await findFailures(url, revision, scenario)).toEqual([]);
    },
  );

  test("mic-mcp passes the scenarios of the skills extension", { timeout: LIMIT_MS }, async () => {
    const { url } = await startHttp({ args: ["--emulator"] });
    const verdicts = await Promise.all(SKILLS.map((name) => runScenario(url, "2026-07-28", name)));
    const optional = verdicts.flatMap(failedChecks);
    // Reading directories is optional in the extension. Each skill here is a single file.
    expect(optional.filter(({ status }) => status !== "SKIPPED")).toEqual([]);
    expect(new Set(optional.map(({ scenario }) => scenario))).toEqual(new Set(["sep-2640-skills-directory"]));
    const passed = verdicts.flatMap(({ checks }) => checks.filter(({ status }) => status === "SUCCESS"));
    expect(passed.length).toBeGreaterThanOrEqual(39);
  });
});
