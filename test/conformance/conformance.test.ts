// Runs the official suite: scenarios for any server against the product, and tasks against a fixture with the suite's own tasks.
import { describe, expect, onTestFinished, test } from "vitest";
import { startHttp } from "../mcp/http/server.ts";
import { words } from "../support/words.ts";
import { ANY_SERVER, failedChecks, findFailures, runScenario } from "./any-server.ts";
import { isInstalled } from "./suite.ts";
import { startTasksFixture } from "./tasks-fixture.ts";

const isRequested = process.env["CONFORMANCE"] !== undefined && isInstalled();
const skipNote = isRequested ? "" : " (skipped: npm run conformance installs the suite and runs this)";

const LIMIT_MS = 180_000;

/** The suite also has tasks-status-notifications, which it skips. */
const TASKS = words(`
  tasks-lifecycle tasks-capability-negotiation tasks-wire-fields tasks-request-state-removal tasks-mrtr-input
  tasks-request-headers tasks-dispatch-and-envelope tasks-required-task-error tasks-mrtr-composition`);
const SKILLS = words("sep-2640-skills-directory sep-2640-skills-enumeration sep-2640-skills-manifest");

describe.skipIf(!isRequested)(`the official suite${skipNote}`, () => {
  test.each(Object.entries(ANY_SERVER))(
    "%s: mic-mcp serve --http passes the scenarios for any server",
    { timeout: LIMIT_MS },
    async (revision, scenarios) => {
      const { url } = await startHttp({ args: ["--emulator"] });
      for (const scenario of scenarios) expect(await findFailures(url, revision, scenario)).toEqual([]);
    },
  );

  test("the tasks fixture passes the scenarios of the tasks extension", { timeout: LIMIT_MS }, async () => {
    const fixture = await startTasksFixture();
    onTestFinished(() => fixture.close());
    for (const scenario of TASKS) expect(await findFailures(fixture.url, "2026-07-28", scenario)).toEqual([]);
  });

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
