// The official suite against a fixture that has every name it calls, on the serving code of the product; and against the
// product itself, for what holds for any server.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod/v4";
import { startHttp } from "../mcp/http/server.ts";
import { ANY_SERVER, failuresOf, notFine, scenariosOf, single } from "./any-server.ts";
import { isInstalled, runSuite } from "./suite.ts";

const isAsked = process.env["CONFORMANCE"] !== undefined && isInstalled();
const when = isAsked ? "" : " (skipped: npm run conformance installs the suite and runs this)";

const LIMIT_MS = 180_000;

/** Killed when the running test is done. */
async function startFixture(): Promise<string> {
  const args = ["--import", "tsx", "test/conformance/fixture/main.ts"];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "exit");
  onTestFinished(async () => {
    child.kill("SIGTERM");
    await ended;
  });
  const [line] = await Promise.race([once(createInterface(child.stdout), "line"), ended.then(() => ["{}"])]);
  return z.object({ url: z.url() }).parse(JSON.parse(line)).url;
}

/** What the suite runs beside the requirements and this fixture has nothing for. */
const NOT_MEANT: Readonly<Record<string, string>> = {
  "server-sse-polling": "resuming a stream that broke: a session's answers are not stored",
  "http-custom-header-server-validation": "no tool has arguments that go into headers",
  "tasks-status-notifications": "the suite itself skips it",
};

const TASKS = [
  "tasks-lifecycle",
  "tasks-capability-negotiation",
  "tasks-wire-fields",
  "tasks-request-state-removal",
  "tasks-mrtr-input",
  "tasks-request-headers",
  "tasks-dispatch-and-envelope",
  "tasks-required-task-error",
  "tasks-mrtr-composition",
];
const SKILLS = ["sep-2640-skills-directory", "sep-2640-skills-enumeration", "sep-2640-skills-manifest"];

describe.skipIf(!isAsked)(`the fixture${when}`, () => {
  test.each([
    ["2025-11-25", 30 + 3],
    ["2026-07-28", 37 + 13],
  ])("meets every requirement of %s", { timeout: LIMIT_MS }, async (revision, count) => {
    const verdict = await runSuite(await startFixture(), "--requirements", revision);
    expect(notFine(verdict).filter(({ scenario }) => !(scenario in NOT_MEANT))).toEqual([]);
    expect(verdict.exitCode, verdict.output).toBe(0);
    const scenarios = scenariosOf(verdict);
    expect(scenarios).toHaveLength(count);
    if (revision === "2026-07-28") expect(scenarios).toEqual(expect.arrayContaining(TASKS));
    // Each has seen something: a suite that could test nothing says so, and is not fine.
    for (const scenario of scenarios.filter((each) => !(each in NOT_MEANT)))
      expect(verdict.checks.filter((check) => check.scenario === scenario && check.status === "SUCCESS")).not.toEqual(
        [],
      );
  });

  test("serves skills as the extension says", { timeout: LIMIT_MS }, async () => {
    await expectSkills(await startFixture());
  });
});

/** Reading directories is the extension's option; these skills are one file each. */
async function expectSkills(url: string): Promise<void> {
  const verdicts = await Promise.all(SKILLS.map((name) => single(url, "2026-07-28", name)));
  const optional = verdicts.flatMap(notFine);
  expect(optional.filter(({ status }) => status !== "SKIPPED")).toEqual([]);
  expect(new Set(optional.map(({ scenario }) => scenario))).toEqual(new Set(["sep-2640-skills-directory"]));
  const passed = verdicts.flatMap(({ checks }) => checks.filter(({ status }) => status === "SUCCESS"));
  expect(passed.length).toBeGreaterThanOrEqual(39);
}

describe.skipIf(!isAsked)(`mic-mcp serve --http${when}`, () => {
  test.each(Object.entries(ANY_SERVER))(
    "%s: does what holds for any server",
    { timeout: LIMIT_MS },
    async (revision, scenarios) => {
      const { url } = await startHttp({ args: ["--emulator"] });
      for (const scenario of scenarios) expect(await failuresOf(url, revision, scenario)).toEqual([]);
    },
  );

  test("serves its skills as the extension says", { timeout: LIMIT_MS }, async () => {
    await expectSkills((await startHttp({ args: ["--emulator"] })).url);
  });
});
