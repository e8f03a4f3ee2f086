// The command line as a person meets it: help, version, and what a wrong word costs (docs/interface.md, "Program").
import { describe, expect, test } from "vitest";
import { COMMANDS, commandNames } from "../../src/cli/commands.ts";
import { version } from "../../src/cli/version.ts";
import { run } from "../mcp/stdio/child.ts";
import { emptyHome } from "../support/home.ts";
import { hasTerminals, onTerminal, onTerminals } from "../support/terminal.ts";

const EXIT_CODES = "Exit codes: 0 fine, 1 the work failed, 2 wrong usage or configuration.";

describe("mic-mcp", () => {
  test.concurrent.each([[["--help"]], [["-h"]], [["help"]], [["help", "frobnicate"]], [["--emulator", "--help"]]])(
    "%j tells every command",
    async (args) => {
      const { code, stdout, stderr } = await run(args);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      for (const name of commandNames) expect(stdout).toContain(`mic-mcp ${name}`);
      for (const word of ["MIC_CLIENT_ID", "NO_COLOR", EXIT_CODES]) expect(stdout).toContain(word);
    },
  );

  test.concurrent.each(Object.values(COMMANDS))("$name --help tells its flags, with examples", async (command) => {
    const { code, stdout, stderr } = await run([command.name, "--help"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    for (const flag of Object.keys(command.flags)) expect(stdout).toContain(`--${flag}`);
    for (const { line } of command.examples) expect(stdout).toContain(line);
    for (const text of [command.does, EXIT_CODES]) expect(stdout).toContain(text);
    expect(await run(["help", command.name])).toEqual({ code, stdout, stderr });
  });

  test.concurrent.each([[["--version"]], [["-v"]], [["version"]], [["serve", "--version"]], [["demo", "--version"]]])(
    "%j is the package's version",
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
    [["watch", ""], "no job id"],
    [["actions", "--state", "lost"], "--state takes open"],
    [["completion"], "bash, zsh, fish, powershell"],
    [["completion", "bsh"], "Did you mean bash?"],
    [["call", "get_jb"], "Did you mean get_job?"],
    [["call", "get_job", "jobID=1"], "Did you mean jobId?"],
    [["call", "get_job", "jobId"], "NAME=VALUE"],
    [["call", "get_job", "jobId=1", "jobId=2"], "jobId is given twice"],
    [["call", "list_states", "state=TG"], "It takes none"],
    [["call", "list_jobs", "limit=some"], "limit takes a number"],
    [["call", "list_jobs", "unretried=1"], "unretried takes true or false"],
    [["call", "list_jobs", "states=[1"], "states takes a JSON list"],
    [["call", "submit_job", "parameterValues=none"], "parameterValues takes a JSON object"],
    [["call", "get_job", "--json", "[]"], "--json takes a JSON object"],
    [["call", "get_job", "--output", "yaml"], "--output takes text or json"],
    [["call", "get_jb", "--help"], "Did you mean get_job?"],
  ])("%j is wrong usage", async (args, named) => {
    const { code, stdout, stderr } = await run(args);
    expect(code).toBe(2);
    expect(stdout).toBe("");
    expect(stderr).toContain(named);
    expect(stderr).toMatch(/\nRun mic-mcp (\w+ )?--help for /);
    expect(stderr).not.toMatch(/\n\s+at /);
  });
});

describe(onTerminals("typed by hand, mic-mcp"), () => {
  test.skipIf(!hasTerminals)("alone says what it is and what to type", async () => {
    const home = emptyHome();
    const terminal = onTerminal({ HOME: home.path, MIC_KEYCHAIN: "off" }, []);
    expect(await terminal.exit).toBe(0);
    for (const word of ["MCP server", "mic-mcp demo", "mic-mcp login", "mic-mcp doctor", "mic-mcp --help"])
      expect(terminal.screen()).toContain(word);
    home.remove();
  });

  test.skipIf(!hasTerminals)("doctor is coloured, and not where NO_COLOR is set", async () => {
    const home = emptyHome();
    const env = { HOME: home.path, MIC_KEYCHAIN: "off" };
    const [coloured, plain] = [onTerminal(env, ["doctor"]), onTerminal({ ...env, NO_COLOR: "1" }, ["doctor"])];
    await Promise.all([coloured.exit, plain.exit]);
    expect(coloured.screen()).toContain("\u001b[31mWRONG");
    expect(plain.screen()).toContain("WRONG");
    expect(plain.screen()).not.toContain("\u001b[");
    expect((await run(["doctor"])).stdout).not.toContain("\u001b");
    home.remove();
  });
});
