// Tests the command line for users: help, version and usage errors (docs/interface.md, "Program").
import { spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { COMMANDS, commandNames } from "../../src/cli/commands.ts";
import { formatCallCommand, parseArgumentPairs } from "../../src/cli/tool-arguments.ts";
import { version } from "../../src/cli/version.ts";
import { UsageError } from "../../src/core/config.ts";
import { tools } from "../../tools/index.ts";
import { run } from "../mcp/stdio/child.ts";
import { createEmptyHome } from "../support/empty-home.ts";
import { hasTerminals, runOnTerminal, withTerminalNote } from "../support/terminal.ts";

const EXIT_CODES = "Exit codes: 0 success, 1 failure, 2 invalid usage or configuration.";

describe("mic-mcp", () => {
  test.concurrent.each([[["--help"]], [["-h"]], [["help"]], [["help", "frobnicate"]], [["--emulator", "--help"]]])(
    "%j lists every command",
    async (args) => {
      const { code, stdout, stderr } = await run(args);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      for (const name of commandNames) expect(stdout).toContain(`mic-mcp ${name}`);
      for (const word of ["MIC_CLIENT_ID", "NO_COLOR", EXIT_CODES]) expect(stdout).toContain(word);
    },
  );

  test.concurrent.each(Object.values(COMMANDS))("$name --help lists its flags, with examples", async (command) => {
    const { code, stdout, stderr } = await run([command.name, "--help"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    for (const flag of Object.keys(command.flags)) expect(stdout).toContain(`--${flag}`);
    for (const { commandLine: line } of command.examples) expect(stdout).toContain(line);
    for (const text of [command.summary, EXIT_CODES]) expect(stdout).toContain(text);
    expect(await run(["help", command.name])).toEqual({ code, stdout, stderr });
  });

  test.concurrent.each([[["--version"]], [["-v"]], [["version"]], [["serve", "--version"]], [["demo", "--version"]]])(
    "%j prints the package's version",
    async (args) => {
      expect(await run(args)).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" });
    },
  );

  test.concurrent.each([
    [["frobnicate"], '"frobnicate" is not a command'],
    [["logn"], "Did you mean mic-mcp login?"],
    [["Doctor"], "Did you mean mic-mcp doctor?"],
    [["serve", "extra"], "extra"],
    [["--frobnicate"], "no flag --frobnicate"],
    [["serve", "--base-ur", "http://x"], "Did you mean --base-url?"],
    [["serve", "--base-url"], "--base-url"],
    [["serve", "--read-only=yes"], "--read-only"],
    [["serve", "--host", "127.0.0.1"], "--http"],
    [["serve", "--port", "0"], "--http"],
    [["serve", "--http", "--port", "65536"], "--port"],
    [["emulator", "--frobnicate"], "--frobnicate"],
    [["emulator", "--port", "65536"], "--port"],
    [["emulator", "--port", "http"], "--port"],
    [["emulator", "--port", "-1"], "--port"],
    [["emulator", "--stage-ms", "1.5"], "--stage-ms"],
    [["emulator", "--requests-per-minute", "many"], "--requests-per-minute"],
    [["login", "--secret", "x"], "--secret"],
    [["logout", "--all"], "--all"],
    [["status", "--jsn"], "Did you mean --json?"],
    [["doctor", "now"], "now"],
    [["demo", "quick"], "quick"],
    [["watch"], "one job id"],
    [["watch", "one", "two"], "one job id"],
    [["watch", ""], "not a job id"],
    [["actions", "--state", "lost"], "--state must be one of in_progress"],
    [["completion"], "bash, zsh, fish, powershell"],
    [["completion", "bsh"], "Did you mean bash?"],
    [["call", "get_jb"], "Did you mean get_job?"],
    [["call", "get_job", "jobID=1"], "Did you mean jobId?"],
    [["call", "get_job", "--json", "[]"], "--json must be a JSON object"],
    [["call", "get_job", "--output", "yaml"], "--output must be text or json"],
    [["call", "get_jb", "--help"], "Did you mean get_job?"],
  ])("%j is a usage error", async (args, named) => {
    const { code, stdout, stderr } = await run(args);
    expect(code).toBe(2);
    expect(stdout).toBe("");
    expect(stderr).toContain(named);
    expect(stderr).toMatch(/\nRun mic-mcp (\w+ )?--help for /);
    expect(stderr).not.toMatch(/\n\s+at /);
  });
});

describe("NAME=VALUE", () => {
  const schemaOf = (name: string) => tools.find((tool) => tool.name === name)?.inputSchema() ?? {};

  test.each([
    ["get_job", ["jobId"], "NAME=VALUE"],
    ["get_job", ["jobId=1", "jobId=2"], "jobId is specified twice"],
    ["get_job", ["__proto__=1"], "not an argument"],
    ["list_states", ["state=TG"], "The tool has no arguments"],
    ["list_jobs", ["limit=some"], "limit must be a number"],
    ["list_jobs", ["unretried=1"], "unretried must be true or false"],
    ["list_jobs", ["states=[1"], "states must be a JSON list"],
    ["submit_job", ["parameterValues=none"], "parameterValues must be a JSON object"],
  ])("for %s, %j is a usage error", (name, pairs, expectedError) => {
    expect(() => parseArgumentPairs(pairs, schemaOf(name))).toThrow(UsageError);
    expect(() => parseArgumentPairs(pairs, schemaOf(name))).toThrow(expectedError);
  });

  test("NAME=VALUE pairs are parsed by the tool's schema", () => {
    const typed = parseArgumentPairs(
      ["limit=5", "states=FAILED", "states=CANCELLED", "unretried=true", "createdSince=2026-01-01T00:00:00Z"],
      schemaOf("list_jobs"),
    );
    expect(typed).toEqual({
      limit: 5,
      states: ["FAILED", "CANCELLED"],
      unretried: true,
      createdSince: "2026-01-01T00:00:00Z",
    });
    const bindings = [{ port: "a", inputId: "b=c" }];
    const submitted = [`inputBindings=${JSON.stringify(bindings)}`, 'parameterValues={"x":1}', "clientReference=a=b"];
    expect(parseArgumentPairs(submitted, schemaOf("submit_job"))).toEqual({
      inputBindings: bindings,
      parameterValues: { x: 1 },
      clientReference: "a=b",
    });
    expect(parseArgumentPairs(['names=["Patna, Bihar"]', "names=Gaya"], schemaOf("find_district"))).toEqual({
      names: ["Patna, Bihar", "Gaya"],
    });
  });

  test("a printed command parses to the same arguments, and a shell executes no part of it", () => {
    const args = {
      reason: "it's $(done); `x`",
      limit: 3,
      states: ["FAILED", "CANCELLED"],
      parameterValues: { a: [1] },
    };
    const words = ["reason", "limit", "states", "parameterValues"];
    const types = [
      { type: "string" },
      { type: "integer" },
      { type: "array", items: { type: "string" } },
      { type: "object" },
    ];
    const properties = Object.fromEntries(words.map((word, index) => [word, types[index]]));
    const line = formatCallCommand("any_tool", args);
    const { stdout } = spawnSync("sh", ["-c", `printf '%s\\n' ${line.replace(/^mic-mcp call any_tool/, "")}`]);
    expect(parseArgumentPairs(stdout.toString().trimEnd().split("\n"), { properties })).toEqual(args);
  });
});

describe(withTerminalNote("typed by hand, mic-mcp"), () => {
  test.skipIf(!hasTerminals)(
    "mic-mcp without arguments on a terminal shows its purpose and the first commands",
    async () => {
      const home = createEmptyHome();
      const terminal = runOnTerminal({ HOME: home.path, MIC_KEYCHAIN: "off" }, []);
      expect(await terminal.exit).toBe(0);
      for (const word of ["MCP server", "mic-mcp demo", "mic-mcp login", "mic-mcp doctor", "mic-mcp --help"])
        expect(terminal.screen()).toContain(word);
      home.remove();
    },
  );

  test.skipIf(!hasTerminals)("doctor is colored on a terminal unless NO_COLOR is set", async () => {
    const home = createEmptyHome();
    const env = { HOME: home.path, MIC_KEYCHAIN: "off" };
    const [colored, plain] = [runOnTerminal(env, ["doctor"]), runOnTerminal({ ...env, NO_COLOR: "1" }, ["doctor"])];
    await Promise.all([colored.exit, plain.exit]);
    expect(colored.screen()).toContain("\u001b[31mWRONG");
    expect(plain.screen()).toContain("WRONG");
    expect(plain.screen()).not.toContain("\u001b[");
    expect((await run(["doctor"])).stdout).not.toContain("\u001b");
    home.remove();
  });
});
