// Runs the examples on the pages for users against the emulator: calls with their answers, commands, and the nightly script.
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import type { Emulator } from "../../src/emulator/index.ts";
import { userForTest } from "../cli/test-user.ts";
import { FILE } from "../emulator/work.ts";
import { commandOf, skipReasonFor } from "../interop/packages.ts";
import { NO_NETWORK } from "../interop/run.ts";
import { homeVariables } from "../support/empty-home.ts";
import { emulatorForTest } from "../support/emulator.ts";
import { freePort } from "../support/free-port.ts";
import { CODE_CACHE, emulatorEnv, inProcessClientForTest } from "../support/mcp.ts";
import { missingProgram } from "../support/process.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { runCount } from "../support/thorough.ts";
import { posixMissing, testUnless } from "../support/unless.ts";
import { words } from "../support/words.ts";

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

/** The pages whose commands a new user types. */
const STEPS = [
  "README.md",
  ...words("quick-start clients commands automate-retries configuration troubleshooting").map(
    (name) => `docs/use/${name}.md`,
  ),
];

/** Why a command of these pages does not run here. */
const CANNOT_RUN: readonly (readonly [commands: RegExp, reason: string])[] = [
  [/^git clone|^npm ci/, ".ci/run runs it"],
  [/^mic-mcp demo/, ".ci/run runs npm run demo"],
  [/mic-mcp log(?:in|out)/, "test/credentials/keychain runs it with a keychain"],
  [/mic-mcp teams|serve --teams/, "test/teams runs it in a deployment"],
  [/^code /, "VS Code needs a screen"],
  [/ --open$/, "it opens a browser"],
  [/^docker /, "the image is not published"],
  [/powershell/, "it is for PowerShell"],
  [/"…"/, "it is not complete"],
];

/** The programs of others: the commands of a client run if it is installed. */
const CLIENTS = { claude: "Claude Code", codex: "Codex", gemini: "Gemini CLI" } as const;
const clientNames = ["claude", "codex", "gemini"] as const;
const clientOf = (line: string) => clientNames.find((name) => line.startsWith(`${name} `));

/** The commands of each section, in its blocks and tables, without the comments after them. */
const sections = STEPS.flatMap((page) =>
  readFileSync(page, "utf8")
    .split(/^(?=#+ \S)/m)
    .map((section) => ({
      page,
      heading: /^#+ (.*)/.exec(section)?.[1] ?? "",
      lines: [
        ...section.matchAll(/^```sh\n(?!#!)([\s\S]*?)^```$|^\|.*?`((?:claude|codex|gemini) mcp add [^`]+)`/gm),
      ].flatMap(([, block, cell = ""]) =>
        (block ?? cell)
          .replaceAll("\\\n", " ")
          .split("\n")
          .map((line) => line.replace(/ {2,}#.*$/, ""))
          .filter(Boolean),
      ),
    })),
);
const jqMissing = missingProgram("jq");
const reasonFor = (line: string): string | undefined => CANNOT_RUN.find(([commands]) => commands.test(line))?.[1];

test("each reason not to run a command concerns one on the pages", () => {
  const all = sections.flatMap(({ lines }) => lines);
  expect(all.length).toBeGreaterThan(50);
  expect(CANNOT_RUN.filter(([commands]) => !all.some((line) => commands.test(line)))).toEqual([]);
});

/** The line in a shell script that records its exit code. A server runs in the background until the script ends. */
function toStep(line: string): string {
  const isServer = /serve --http|mic-mcp emulator/.test(line);
  const run = isServer ? `${line} > ~/started & until [ -s ~/started ]; do sleep 0.1; done` : line;
  // The client starts the server that it has added.
  const [client] = / mcp add /.test(line) ? [clientOf(line)] : [];
  return `${run}\necho $? >> ~/codes${client === undefined ? "" : `\n${client} mcp list`}`;
}

/** Runs the commands as a user with an empty home, who replaces what the pages leave open. */
async function runSteps(lines: readonly string[], isConfigured: boolean) {
  const user = await userForTest();
  const home = await folderForTest();
  const { MIC_STATE_DIR: _, MIC_DOWNLOAD_DIR: __, ...env } = user.env;
  const programs: Record<string, readonly string[]> = { "mic-mcp": [process.execPath, resolve("dist", "cli.js")] };
  for (const name of clientNames) programs[name] = commandOf(CLIENTS[name]);
  await mkdir(join(home, "bin"));
  await mkdir(join(home, ".gemini"));
  // Only the user can trust a folder. docs/use/clients.md describes the effect without trust.
  await writeFile(
    join(home, ".gemini", "settings.json"),
    JSON.stringify({ security: { folderTrust: { enabled: false } }, privacy: { usageStatisticsEnabled: false } }),
  );
  for (const [name, program] of Object.entries(programs))
    await writeFile(join(home, "bin", name), `#!/bin/sh\nexec ${program.join(" ")} "$@"\n`, { mode: 0o755 });
  const jobOf = async (line: string) =>
    line.includes("retry_jobs") ? await user.failedJob() : await user.finishedJob();
  const port = String(await freePort());
  const script: string[] = ["trap 'kill $(jobs -p) 2> /dev/null' EXIT"];
  for (const line of lines) {
    let complete = line.replaceAll("/path/to/mic-mcp", process.cwd()).replace(/\b89\d\d\b/, port);
    while (complete.includes("micjob_…")) complete = complete.replace("micjob_…", await jobOf(line));
    script.push(toStep(complete));
  }
  // The files of a client contain only the name of the variable.
  script.push(
    '[ -z "$MIC_HTTP_TOKEN" ] || grep -rl --exclude=http-token -- "$MIC_HTTP_TOKEN" ~ | sed "s/^/token in /"',
  );
  const environment = {
    ...(isConfigured && env),
    ...NO_NETWORK,
    PATH: `${join(home, "bin")}:${process.env["PATH"]}`,
    ...homeVariables(home),
    XDG_CACHE_HOME: CODE_CACHE,
    MIC_KEYCHAIN: "off",
    MIC_GEOGRAPHY_RATE_LIMIT: "600",
  };
  const output = await new Promise<string>((done) => {
    const child = execFile("bash", ["-c", script.join("\n")], { env: environment }, (_error, stdout, stderr) =>
      done(stdout + stderr),
    );
    child.stdin?.end();
  });
  const codes = (await readFile(join(home, "codes"), "utf8")).trim().split("\n").map(Number);
  return { output, codes };
}

/** A reader chooses one client; lines of no client belong to each choice. Equal steps of two sections run once. */
const runs = new Map(
  sections.flatMap(({ page, heading, lines }) => {
    const runnable = lines.filter((line) => reasonFor(line) === undefined);
    const chosen = clientNames.filter((name) => runnable.some((line) => clientOf(line) === name));
    const choices = chosen.length > 0 ? chosen : runnable.length > 0 ? [undefined] : [];
    return choices.map((client) => {
      const steps = runnable.filter((line) => [undefined, client].includes(clientOf(line)));
      return [steps.join("\n"), { place: `${page}, "${heading}"`, client, steps }] as const;
    });
  }),
);

for (const { place, client, steps } of runs.values())
  testUnless(
    posixMissing ?? (client && skipReasonFor(CLIENTS[client])) ?? (/\| jq/.test(steps.join()) ? jqMissing : undefined),
    `the commands of ${place}, work as written${client === undefined ? "" : ` with ${CLIENTS[client]}`}`,
    async () => {
      const { output, codes } = await runSteps(steps, client === undefined);
      const ended = steps.map((line, at) => [codes[at], line]);
      expect(ended, output).toEqual(steps.map((line) => [0, line]));
      expect(output).not.toContain("token in ");
      if (client === "codex") expect(output).toMatch(/^mic +\S+/m);
      else if (client !== undefined) expect(output).toMatch(/^(?:. )?mic: .*Connected$/m);
    },
  );

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
