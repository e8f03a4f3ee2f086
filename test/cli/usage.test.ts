// Tests the command line for users: help, version and usage errors (docs/interface.md, "Program").

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { commandNames, commands, flagsOf } from "../../src/cli/commands.ts";
import { formatCallCommand } from "../../src/cli/terminal-reader.ts";
import { parseArgumentWords } from "../../src/cli/tool-arguments.ts";
import { version } from "../../src/cli/version.ts";
import { UsageError } from "../../src/core/config.ts";
import { tools } from "../../tools/index.ts";
import { opensslMissing, serveHttpsForTest } from "../support/certificate.ts";
import { runInProcess as run } from "../support/command.ts";
import { bareEnvironment, entryArguments } from "../support/mcp.ts";
import { missingProgram } from "../support/process.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { runOnTerminal, terminalsMissing } from "../support/terminal.ts";
import { linuxMissing, posixMissing, testUnless } from "../support/unless.ts";

const EXIT_CODES =
  "Exit codes: 0 success, 1 failure, 2 invalid usage or setting, 3 identical call ran before, 4 not configured,\n5 job not successful or not submitted, 6 job not finished.";

test.each(["--help", "-h", "help frobnicate", "--emulator --help"])("%s lists every command", async (line) => {
  const { code, stdout, stderr } = await run(line.split(" "));
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  for (const name of commandNames) expect(stdout).toContain(`mic-mcp ${name}`);
  for (const word of ["MIC_CLIENT_ID", "NO_COLOR", EXIT_CODES]) expect(stdout).toContain(word);
});

test.each(commands)("$name --help lists its flags, with examples", async (command) => {
  const { code, stdout, stderr } = await run([command.name, "--help"]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  for (const { usage } of flagsOf(command)) expect(stdout).toContain(usage);
  for (const [line] of command.examples) expect(stdout).toContain(line);
  for (const text of [command.summary, EXIT_CODES]) expect(stdout).toContain(text);
  expect(await run(["help", command.name])).toEqual({ code, stdout, stderr });
});

test("the help of one action of teams has only its flags", async () => {
  const { stdout } = await run(["teams", "remove", "--help"]);
  expect(stdout).toMatch(/^mic-mcp teams remove TEAM \[--member SUBJECT\] \[--json\]\n/);
  expect(stdout).not.toMatch(/--secret-file|rotate-keys/);
});

test("help texts cite pages only by URL, because an installed package lacks them, and each page is in the repository", async () => {
  const pages = new Set<string>();
  for (const args of [["--help"], ...commandNames.map((name) => [name, "--help"])]) {
    const { stdout } = await run(args);
    const withoutUrls = stdout.replace(
      /https:\/\/github\.com\/mic-mcp\/mic-mcp\/blob\/main\/(\S+\.md)/g,
      (_, page: string) => {
        pages.add(page);
        return "";
      },
    );
    expect(withoutUrls, `${args}`).not.toMatch(/\.md\b/);
  }
  expect([...pages].sort()).toEqual(["docs/operate/teams.md", "docs/use/configuration.md"]);
  for (const page of pages) expect(existsSync(page), page).toBe(true);
});

testUnless(missingProgram("man"), "the manual page has each command and flag", () => {
  const { stdout, stderr } = spawnSync("man", ["--warnings", "-l", ...packageJson.man], {
    encoding: "utf8",
    env: { ...process.env, MANWIDTH: "1000", LC_ALL: "C.UTF-8", MANPAGER: "cat" },
  });
  expect(stderr).toBe("");
  for (const command of commands) {
    const { name, summary, examples } = command;
    expect(stdout).toMatch(new RegExp(`^ +${name}$`, "m"));
    for (const text of [summary, ...flagsOf(command).map(({ about }) => about)]) expect(stdout).toContain(text);
    for (const [commandLine] of examples) expect(stdout).toContain(commandLine.replaceAll("…", "..."));
  }
});

test.each(["--version", "-v", "version", "demo --version"])("%s prints the package's version", async (line) => {
  expect(await run(line.split(" "))).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" });
});

test.each([
  [["frobnicate"], '"frobnicate" is not a command'],
  [["status", "--json"], "mic-mcp status was removed. Run mic-mcp doctor"],
  [["migrate"], "mic-mcp migrate was removed. Run mic-mcp teams migrate."],
  [["geography", "warm"], "mic-mcp geography was removed. Lists are loaded when a call needs them"],
  [["logn"], "Did you mean mic-mcp login?"],
  [["serve", "extra"], "extra"],
  [["--frobnicate"], "no flag --frobnicate"],
  [["serve", "--base-ur", "http://x"], "Did you mean --base-url?"],
  [["serve", "--base-url"], "--base-url"],
  [["serve", "--read-only=yes"], "--read-only"],
  [["serve", "--host", "127.0.0.1"], "--http"],
  [["serve", "--http", "--port", "65536"], "--port"],
  [["emulator", "--stage-ms", "1.5"], "--stage-ms"],
  [["emulator", "--requests-per-minute", "many"], "--requests-per-minute"],
  [["--emulator", "call", "list_states"], "Write flags after the command: mic-mcp call"],
  [["watch"], "one job id"],
  [["watch", ""], "not a job id"],
  [["watch", "one", "--timeout", "soon"], "--timeout must be a whole number"],
  [["actions", "--state", "lost"], "--state must be one of in_progress"],
  [["actions", "--state", "known"], "Did you mean unknown?"],
  [["completion"], "bash, zsh, fish, powershell"],
  [["completion", "bsh"], "Did you mean bash?"],
  [["call", "get_jb"], "Did you mean get_job?"],
  [["call", "get_job", "job=1"], "Did you mean jobId?"],
  [["call", "get_job", "--input", "[]"], "--input must be a JSON object"],
  [["call", "list_jobs", "--limits", "3"], "Did you mean --limit?"],
  [["call", "list_jobs", "--output", "json"], "Did you mean --json?"],
  [["call", "list_jobs", "--jsn"], "Did you mean --json?"],
  [["call", "--limit", "3", "list_jobs"], "name of the tool before --limit"],
  [["call", "list_jobs", "-x"], "no flag -x"],
  [["call", "get_jb", "--help"], "Did you mean get_job?"],
  [["actions", "--env-file"], "--env-file requires the path of a file"],
  [["actions", "--env-file", "/dev/null/missing"], "cannot be read (ENOTDIR)"],
  [["actions", `--env-file=${resolve("package.json")}`], 'package.json" must be NAME=VALUE'],
])("%j is a usage error", async (args, named) => {
  const { code, stdout, stderr } = await run(args);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toContain(named);
  expect(stderr).toMatch(/\nRun mic-mcp (\w+ )?(\w+ )?--help for /);
  expect(stderr).not.toMatch(/\n\s+at /);
});

async function envFile(...lines: readonly string[]): Promise<string> {
  const path = join(await folderForTest(), "teams.env");
  await writeFile(path, `${lines.join("\n")}\n`);
  return path;
}

test("--env-file sets variables that are not set yet, and keeps characters that a shell would interpret", async () => {
  const path = await envFile(
    "# A comment",
    "",
    "MIC_CLIENT_ID=a $b & 'c' #d",
    "MIC_CLIENT_SECRET=secret",
    'MIC_BASE_URL="https://file.example"',
    "MIC_WORKSPACE_ID=w1 ",
  );
  const env = { MIC_BASE_URL: "https://environment.example" };
  for (const args of [
    ["doctor", "--offline", "--json", "--env-file", path],
    [`--env-file=${path}`, "doctor", "--offline", "--json"],
  ]) {
    const { code, stdout } = await run(args, { env });
    const text = JSON.stringify(JSON.parse(stdout).settings);
    expect(code).toBe(0);
    for (const value of ["a $b & 'c' #d", "https://environment.example", '"w1"']) expect(text).toContain(value);
  }
});

testUnless(opensslMissing, "a private CA in --env-file applies to the command", async () => {
  const paths: (string | undefined)[] = [];
  const { cert, url } = await serveHttpsForTest(({ url: path }, response) => {
    paths.push(path);
    response.writeHead(404).end();
  });
  const path = await envFile(`NODE_EXTRA_CA_CERTS=${cert}`, `MIC_BASE_URL=${url}`, "MIC_KEYCHAIN=off");
  const child = spawn(process.execPath, ["dist/cli.js", "call", "list_states", "--env-file", path], {
    env: { PATH: process.env["PATH"], HOME: await folderForTest() },
    stdio: "ignore",
  });
  // The command fails with the status of the server, whose certificate it has accepted.
  expect(await once(child, "exit")).toEqual([1, null]);
  expect(paths).not.toEqual([]);
});

test("the error for a wrong argument of a tool names the help of this tool", async () => {
  const { stderr } = await run(["call", "list_jobs", "color=3"]);
  expect(stderr).toMatch(/\nRun mic-mcp call list_jobs --help for its arguments and flags\.\n$/);
});

function toolNamed(name: string) {
  const tool = tools.find((each) => each.name === name);
  if (tool === undefined) throw new Error(`there is no tool ${name}`);
  return tool;
}

test.each([
  ["get_job", ["jobId=1", "jobId=2"], "jobId is specified twice"],
  ["get_job", ["__proto__=1"], "not an argument"],
  ["get_job", ['{"jobId":"1"}'], "must follow --input"],
  ["list_states", ["TG"], "The tool has no arguments"],
  ["list_jobs", ["unretried=1"], "unretried must be one of true, false"],
  ["list_jobs", ["states=FAILS"], "Did you mean FAILED?"],
  ["list_jobs", ["states=[1"], "states must be a JSON list, or values separated by commas"],
  ["rank_divisions", ["lvl=state"], "Did you mean level?"],
  ["list_jobs", ["--limit"], "--limit needs a value"],
  ["list_jobs", ["--limit", "--unretried"], "--limit needs a value"],
  ["get_job", ["1", "--jobId=2"], "jobId is specified twice"],
  ["rank_divisions", ["level=districts"], "level must be one of state, district. Did you mean district?"],
])("call %s refuses the arguments %j as a usage error", (name, words, expectedError) => {
  expect(() => parseArgumentWords(words, toolNamed(name))).toThrow(
    expect.objectContaining({ constructor: UsageError, message: expect.stringContaining(expectedError) }),
  );
});

const bindings = [{ port: "a", inputId: "b=c" }];
test.each([
  ["list_jobs", ["limit=5", "unretried=true"], { limit: 5, unretried: true }],
  ["list_jobs", ["--limit", "5", "--unretried"], { limit: 5, unretried: true }],
  ["list_jobs", ["--unretried", "false", "--limit=5"], { limit: 5, unretried: false }],
  ["list_jobs", ["--created-since", "2026-11-22T00:00:00Z"], { createdSince: "2026-11-22T00:00:00Z" }],
  ["get_job", ["micjob-1", "--wait-seconds", "3"], { jobId: "micjob-1", waitSeconds: 3 }],
  ["find_district", ["names=Patna,Gaya"], { names: ["Patna", "Gaya"] }],
  ["list_jobs", ["states=FAILED,PAUSED", "states=running"], { states: ["FAILED", "PAUSED", "RUNNING"] }],
  ["rank_divisions", ["DISTRICT", "states=KA,TN"], { level: "district", states: ["KA", "TN"] }],
  ["find_district", ["Hyderabad"], { name: "Hyderabad" }],
  ["find_district", ["names=Patna, Bihar", "names=Gaya"], { names: ["Patna, Bihar", "Gaya"] }],
  ["find_district", ['names=["Patna, Bihar"]', "names=Gaya"], { names: ["Patna, Bihar", "Gaya"] }],
  ["wait_for_jobs", ["job-1", "job-2,job-3"], { jobIds: ["job-1", "job-2", "job-3"] }],
  ["get_recipe", ["recipeVersionId=v1"], { versionId: "v1" }],
  [
    "list_jobs",
    ["state=failed", "created_since=2026-11-22T00:00:00Z"],
    { states: ["FAILED"], createdSince: "2026-11-22T00:00:00Z" },
  ],
  [
    "submit_job",
    ["v1", `inputBindings=${JSON.stringify(bindings)}`, "clientReference=a=b"],
    { recipeVersionId: "v1", inputBindings: bindings, clientReference: "a=b" },
  ],
])("call %s accepts the arguments %j", (name, words, expected) => {
  const tool = toolNamed(name);
  expect(tool.toExact(parseArgumentWords(words, tool)).arguments).toEqual(expected);
});

testUnless(posixMissing, "a printed command parses to the same arguments, and a shell executes no part of it", () => {
  const tool = toolNamed("retry_jobs");
  const args = { reason: "it's $(done); `x`", waitSeconds: 3, jobIds: ["job-1", "job-2"], retryMode: "SAFE_RESUME" };
  const line = formatCallCommand("retry_jobs", args);
  const { stdout } = spawnSync("sh", ["-c", `printf '%s\\n' ${line.replace(/^mic-mcp call retry_jobs/, "")}`]);
  const words = stdout.toString().trimEnd().split("\n");
  expect(tool.toExact(parseArgumentWords(words, tool)).arguments).toEqual(args);
});

testUnless(terminalsMissing, "mic-mcp without arguments on a terminal shows its first commands", async () => {
  const terminal = runOnTerminal({ HOME: await folderForTest(), MIC_KEYCHAIN: "off" }, []);
  expect(await terminal.exit).toBe(0);
  for (const word of ["MCP server", "mic-mcp demo", "mic-mcp login", "mic-mcp doctor", "mic-mcp --help"])
    expect(terminal.screen()).toContain(word);
});

testUnless(terminalsMissing, "doctor is colored on a terminal unless NO_COLOR is set", async () => {
  const env = { HOME: await folderForTest(), MIC_KEYCHAIN: "off" };
  const [colored, plain] = [runOnTerminal(env, ["doctor"]), runOnTerminal({ ...env, NO_COLOR: "1" }, ["doctor"])];
  await Promise.all([colored.exit, plain.exit]);
  expect(colored.screen()).toContain("\u001b[31mFAIL");
  expect(plain.screen()).toContain("FAIL");
  expect(plain.screen()).not.toContain("\u001b[");
  const { stdout } = await run(["doctor"]);
  expect(stdout).not.toContain("\u001b");
  // Without a keychain, mic-mcp login cannot help.
  expect(stdout).toMatch(
    /^FAIL base URL .*\n +-> Add --emulator .*: MIC_BASE_URL=\S+ MIC_.*[\s\S]*Some checks failed/m,
  );
  expect(stdout).not.toContain("mic-mcp login");
});

testUnless(
  linuxMissing,
  "a command whose output cannot be written exits with 1 and says so; a reader that closes its pipe is no error",
  async () => {
    const home = await folderForTest();
    for (const args of ["--help", "completion bash", "actions --json"]) {
      const command = `${JSON.stringify(process.execPath)} ${entryArguments().join(" ")} ${args}`;
      const options = { encoding: "utf8", env: bareEnvironment(home) } as const;
      const full = spawnSync("bash", ["-c", `${command} > /dev/full`], options);
      expect({ code: full.status, stderr: full.stderr }).toEqual({
        code: 1,
        stderr: expect.stringMatching(/^mic-mcp: the output could not be written: ENOSPC.*\n$/m),
      });
      const closed = spawnSync("bash", ["-c", `set -o pipefail; (sleep 0.5; ${command}) | true`], options);
      expect({ code: closed.status, stderr: closed.stderr }).toEqual({ code: 0, stderr: "" });
    }
  },
);
