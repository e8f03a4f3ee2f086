// Tests the tables of the command line: how they fit terminals of 80 and 100 columns, and that a program gets them unchanged.
import { expect, test } from "vitest";
import { alignColumns, formatTables, wrapLines } from "../../src/cli/tables.ts";
import { FILE } from "../emulator/work.ts";
import { runOnTerminal, terminalsMissing } from "../support/terminal.ts";
import { testUnless } from "../support/unless.ts";
import { userForTest } from "./test-user.ts";

const table = (...rows: readonly string[]): string => rows.map((row) => row.replaceAll(" | ", "\t")).join("\n");

const ACTIONS = table(
  "state | tool | targetId | createdId | code | attempts | updatedAt | idempotencyKey",
  "succeeded | submit_job | micrecipev_4a970e8f4ad5d2fe728aa30f4d1fcba0 | micjob_5030608fc071bd8863ef1c748d35499f |  | 1 | 2026-11-28T04:09:49.395Z | mic-2f1418f0651183214ddb274f06b7f4ba",
  "unknown | register_input | devfile_76381f6e8a03a2fd3bcb6c735f66e413 |  |  | 3 | 2026-11-28T04:09:49.166Z | mic-32d1da56c1ec5e85a526bea037b07401",
);
const RECIPES = table(
  "versionId | name | ports | expiresAt",
  "micrecipev_139166c4c6456a1dac20188d632fede9 | Extract text of a document | document | 2027-09-25T04:09:43.898Z",
  "micrecipev_48f27cc0f7300162f71933e989445e20 | Blend a table with a normalized dataset | table, reference | 2027-09-27T04:09:43.898Z",
);
const JOBS = table(
  "id | state | createdAt | inputs | stage | updatedAt | failure | retryable",
  "micjob_5030608fc071bd8863ef1c748d35499f | SUCCEEDED | 2026-11-28T04:09:49Z | devfile_76381f6e8a03a2fd3bcb6c735f66e413 |  |  |  | ",
  "micjob_2d5c859d6b7189f27dcaa9c3b4cd7a31 | FAILED | 2026-11-25T03:26:36Z |  | CHURN | 2026-11-25T03:26:36Z | STAGE_UNAVAILABLE | true",
);
const DISTRICTS = table("name | stateName | count", "मैसूर | Karnataka | 7", "東京 | Tōkyō | 23", "🌾 | Punjab | 1");

test("long lines break between words, and the rest of a column stays below it", () => {
  const screen = { isTTY: true, columns: 40, write: () => undefined };
  const help = [
    "Exit codes: 0 success, 1 failure, 2 invalid usage.",
    "  --json        print JSON, one line for each result of the call",
    "  mic-mcp call get_job micjob_… --json   print one field",
    "https://github.com/mic-mcp/mic-mcp/blob/main/docs",
  ].join("\n");
  expect(wrapLines(help, screen).split("\n")).toEqual([
    "Exit codes: 0 success, 1 failure, 2",
    "invalid usage.",
    "  --json        print JSON, one line for",
    "                each result of the call",
    "  mic-mcp call get_job micjob_… --json",
    "      print one field",
    "https://github.com/mic-mcp/mic-mcp/blob/main/docs",
  ]);
  expect(wrapLines(help, { ...screen, isTTY: false })).toBe(help);
});

test("tables fit 80 columns", () => {
  expect(
    alignColumns(["Before.", ACTIONS, "", RECIPES, "", JOBS, "", DISTRICTS].join("\n"), 80),
  ).toMatchInlineSnapshot(`
    "Before.
    state      tool            targetId          createdId         code  attempts
    succeeded  submit_job      micrecipe…1fcba0  micjob_50…35499f        1
    unknown    register_input  devfile_7…66e413                          3
    Not shown: updatedAt, idempotencyKey. A wider terminal or --json shows everything.

    versionId                                    name
    micrecipev_139166c4c6456a1dac20188d632fede9  Extract text of a document
    micrecipev_48f27cc0f7300162f71933e989445e20  Blend a table with a normalized da…
    Not shown: ports, expiresAt. A wider terminal or --json shows everything.

    id                                       state      stage  failure
    micjob_5030608fc071bd8863ef1c748d35499f  SUCCEEDED
    micjob_2d5c859d6b7189f27dcaa9c3b4cd7a31  FAILED     CHURN  STAGE_UNAVAILABLE
    Not shown: createdAt, inputs, updatedAt, retryable. A wider terminal or --json shows everything.

    name  stateName  count
    मैसूर   Karnataka  7
    東京  Tōkyō      23
    🌾    Punjab     1"
  `);
});

test.each([20, 40, 60, 80, 100, 120, 160, 200])("no line of a table is longer than %d columns", (columns) => {
  for (const text of [ACTIONS, RECIPES, JOBS]) {
    const lines = alignColumns(text, columns).split("\n");
    for (const line of lines.slice(0, text.split("\n").length)) expect(line.length).toBeLessThanOrEqual(columns);
  }
});

test("a table that fits is complete, and a table in a pipe stays tab-separated", () => {
  const wide = alignColumns(ACTIONS, 300);
  expect(wide).not.toContain("…");
  expect(wide.split("\n")).toHaveLength(3);
  const stream = { isTTY: false, columns: 80, write: () => true };
  expect(formatTables(ACTIONS, stream)).toBe(ACTIONS);
});

testUnless(
  terminalsMissing,
  "on a terminal of 100 columns, actions and list_jobs print no line that is longer",
  async () => {
    const user = await userForTest();
    await user.type("call", ...user.registration(FILE.succeeds));
    await user.job(FILE.succeeds);
    for (const args of [["actions"], ["call", "list_jobs"]]) {
      const terminal = runOnTerminal({ ...user.env, NO_COLOR: "1" }, args);
      expect(await terminal.exit).toBe(0);
      const lines = terminal.screen().split("\r\n");
      expect(lines.join("\n")).toMatch(/^Not shown: .* A wider terminal or --json shows everything\.$/m);
      const rows = lines.filter((line) => / {2}/.test(line));
      expect(rows.length).toBeGreaterThan(1);
      for (const row of rows) expect(row.length).toBeLessThanOrEqual(100);
    }
  },
);
