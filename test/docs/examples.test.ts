// Runs the examples on the pages for users against the emulator: calls with their answers, commands, and the nightly script.
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { chmod, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import type { Emulator } from "../../src/emulator/index.ts";
import { runInProcess as run } from "../support/command.ts";
import { emulatorForTest } from "../support/emulator.ts";
import { emulatorEnv, inProcessClientForTest } from "../support/mcp.ts";
import { folderForTest } from "../support/temporary-folder.ts";

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
  MIC_GEOGRAPHY_RATE: "600",
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

test("the nightly script runs its job once a day", async () => {
  const [script = ""] = codeBlocks("docs/use/automate-retries.md", "sh").filter((block) => block.startsWith("#!"));
  const emulator = await emulatorForTest({ stageMs: 20 });
  const folder = await folderForTest();
  const file = join(folder, "nightly.sh");
  await writeFile(file, script);
  await writeFile(
    join(folder, "mic-mcp"),
    `#!/bin/sh\nexec "${process.execPath}" "${resolve("dist", "cli.js")}" "$@"\n`,
  );
  await Promise.all([file, join(folder, "mic-mcp")].map((path) => chmod(path, 0o755)));
  const env = {
    ...environmentOf(emulator, folder),
    PATH: `${folder}:${process.env["PATH"]}`,
    HOME: folder,
    RECIPE: emulator.recipeVersionIds[0],
    FILE: emulator.fileIds[0],
  };
  const night = () =>
    new Promise<{ code: number | string; stdout: string }>((done) =>
      execFile(file, { env }, (error, stdout) => done({ code: error?.code ?? 0, stdout })),
    );
  expect(await night()).toMatchObject({ code: 0, stdout: expect.stringContaining("The job SUCCEEDED") });
  expect(await night()).toMatchObject({ code: 0, stdout: expect.stringContaining("already done today") });
});
