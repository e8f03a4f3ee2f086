// Runs the examples on the pages for users against the emulator: calls with their answers, commands, and the nightly script.
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { chmod, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import type { Emulator } from "../../src/emulator/index.ts";
import { FILE } from "../emulator/work.ts";
import { runInProcess as run } from "../support/command.ts";
import { emulatorForTest } from "../support/emulator.ts";
import { CODE_CACHE, emulatorEnv, inProcessClientForTest } from "../support/mcp.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { runCount } from "../support/thorough.ts";

const PAGES = [
  "README.md",
  ...["quick-start", "run-a-job", "ask-about-geography", "automate-retries", "configuration", "errors"].map(
    (name) => `docs/use/${name}.md`,
  ),
  "docs/use/troubleshooting.md",
];

const codeBlocks = (page: string, language: string): readonly string[] =>
  [...readFileSync(page, "utf8").matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "gm"))].map(
    ([, block = ""]) => block,
  );

/** Calls in the text blocks of a page: a line `> tool {…}`, then lines of the answer. */
const examplesOn = (page: string) =>
  codeBlocks(page, "text").flatMap((block) =>
    [...block.matchAll(/^> (\w+) (\{.*\})\n((?:(?!> ).*\n)*)/gm)].map(([, tool = "", args = "", answer = ""]) => ({
      tool,
      args,
      /** Lines of the answer, in order; the answer may have others. `…` stands for any text. */
      lines: answer.split("\n").filter((line) => line !== ""),
    })),
  );

const toPattern = (line: string): string =>
  line
    .split("…")
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"))
    .join(".*");

const environmentOf = (emulator: Emulator, folder: string) => ({
  ...emulatorEnv(emulator),
  MIC_WORKSPACE_ID: emulator.workspaceId,
  MIC_STATE_DIR: folder,
  MIC_DOWNLOAD_DIR: folder,
  MIC_KEYCHAIN: "off",
  MIC_GEOGRAPHY_RATE_LIMIT: "600",
});

const pagesWithCalls = PAGES.filter((page) => examplesOn(page).length > 0);

test.each(pagesWithCalls)("the calls on %s return the documented answers", async (page) => {
  const emulator = await emulatorForTest({ stageMs: 20 });
  const client = await inProcessClientForTest("v2-modern", environmentOf(emulator, await folderForTest()));
  const ids = [...emulator.fileIds, ...emulator.recipeVersionIds];
  for (const { tool, args, lines } of examplesOn(page)) {
    // The pages shorten ids: micrecipev_4a97… stands for the id that begins so.
    const complete = args.replace(/[a-z]+_[0-9a-f]+(?=…)/g, (start) => ids.find((id) => id.startsWith(start)) ?? start);
    const { text } = await client.callTool(tool, JSON.parse(complete.replaceAll("…", "")));
    const answer = text.replaceAll("\t", " ");
    expect(lines.length, `${tool} has an answer`).toBeGreaterThan(0);
    expect(answer, `${page}: ${tool}`).toMatch(new RegExp(lines.map(toPattern).join("[\\s\\S]*")));
  }
});

test("docs/use/errors.md shows each line of an error", async () => {
  const client = await inProcessClientForTest(
    "v2-modern",
    environmentOf(await emulatorForTest(), await folderForTest()),
  );
  const examples = examplesOn("docs/use/errors.md");
  expect(examples).toHaveLength(1);
  for (const { tool, args, lines } of examples) {
    const { text, error } = await client.callTool(tool, JSON.parse(args));
    expect(error).toBeDefined();
    expect(text.split("\n")).toEqual(lines.map((line) => expect.stringMatching(new RegExp(`^${toPattern(line)}$`))));
  }
});

test("docs/use/emulator.md lists the files in the order of fileIds", async () => {
  const rows = readFileSync("docs/use/emulator.md", "utf8").matchAll(/^\| (\d+) \| `(.+)` \|/gm);
  const { files } = await emulatorForTest();
  expect([...rows].map(([, position, name]) => [Number(position), name])).toEqual(
    files.map(({ name }, index) => [index + 1, name]),
  );
});

test("the pages have calls with answers", () => {
  expect(pagesWithCalls.length).toBeGreaterThanOrEqual(5);
});

/** Commands that run without a user and leave the machine as it is. */
const RUNNABLE = /^mic-mcp (?:status|doctor|actions|resolve|call)\b(?!.*…)/;

const commandLines = PAGES.flatMap((page) =>
  codeBlocks(page, "sh")
    .filter((block) => !block.startsWith("#!"))
    .flatMap((block) => block.split("\n").filter((line) => line.startsWith("mic-mcp ")))
    .map((line) => line.replace(/ {2,}#.*$/, "")),
);

test.each([...new Set(commandLines)].filter((line) => RUNNABLE.test(line)))("%s works", async (line) => {
  const emulator = await emulatorForTest({ stageMs: 20 });
  const env = environmentOf(emulator, await folderForTest());
  const { code, stdout, stderr } = await run(line.split(" ").slice(1), { env });
  expect({ line, code, stderr }).toMatchObject({ code: 0 });
  expect(stdout).not.toBe("");
});

/** Writes the script of the page, and a mic-mcp for its PATH. Returns a function that runs it with this file of the emulator. */
async function nightlyScriptForTest(file: number) {
  const [script = ""] = codeBlocks("docs/use/automate-retries.md", "sh").filter((block) => block.startsWith("#!"));
  const emulator = await emulatorForTest({ stageMs: 20 });
  const folder = await folderForTest();
  const path = join(folder, "nightly.sh");
  await writeFile(path, script);
  await writeFile(
    join(folder, "mic-mcp"),
    `#!/bin/sh\nexec "${process.execPath}" "${resolve("dist", "cli.js")}" "$@"\n`,
  );
  await Promise.all([path, join(folder, "mic-mcp")].map((each) => chmod(each, 0o755)));
  const env = {
    ...environmentOf(emulator, folder),
    PATH: `${folder}:${process.env["PATH"]}`,
    HOME: folder,
    XDG_CACHE_HOME: CODE_CACHE,
    RECIPE: emulator.recipeVersionIds[0],
    FILE: emulator.fileIds[file],
  };
  return () =>
    new Promise<{ code: number | string; output: string }>((done) =>
      execFile(path, { env }, (error, stdout, stderr) => done({ code: error?.code ?? 0, output: stdout + stderr })),
    );
}

const NIGHTS = [
  ["succeeds", 0, /The job SUCCEEDED[\s\S]*nightly: the job SUCCEEDED/, /nightly: already done today/],
  ["failsRetryably", 5, /The job FAILED[\s\S]*nightly: the job FAILED/, /Not run again[\s\S]*nightly: the job FAILED/],
  ["quarantined", 5, /No job was submitted[\s\S]*nightly: .*no job was submitted/, /No job was submitted/],
  ["pauses", 6, /PAUSED[\s\S]*nightly: not finished/, /Not run again[\s\S]*nightly: not finished/],
] as const;

test.each(NIGHTS.slice(0, runCount(2, 4)))(
  "the nightly script exits in both runs with the code of the file's outcome: FILE.%s, %i",
  async (file, code, first, second) => {
    const night = await nightlyScriptForTest(FILE[file]);
    const runs = [await night(), await night()];
    expect(runs).toEqual([first, second].map((text) => ({ code, output: expect.stringMatching(text) })));
    expect(runs.some(({ output }) => output.includes("already done today"))).toBe(code === 0);
  },
);
