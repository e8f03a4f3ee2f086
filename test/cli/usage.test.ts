// The command line as a person meets it: help, version, and what a wrong word costs (docs/interface.md, "Program").
import { describe, expect, test } from "vitest";
import { version } from "../../src/cli/version.ts";
import { run } from "../mcp/stdio/child.ts";

describe("mic-mcp", () => {
  test.concurrent.each([[["--help"]], [["-h"]], [["serve", "--help"]], [["emulator", "--help"]], [["demo", "--help"]]])(
    "%j explains itself on stdout",
    async (args) => {
      const { code, stdout, stderr } = await run(args);
      expect(code).toBe(0);
      expect(stderr).toBe("");
      for (const word of ["--emulator", "demo", "login", "logout", "status", "doctor", "MIC_CLIENT_ID", "Exit codes"])
        expect(stdout).toContain(word);
    },
  );

  test.concurrent.each([[["--version"]], [["serve", "--version"]], [["emulator", "--version"]]])(
    "%j is the package's version",
    async (args) => {
      expect(await run(args)).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" });
    },
  );

  test.concurrent.each([
    [["frobnicate"], "frobnicate"],
    [["serve", "extra"], "extra"],
    [["--frobnicate"], "--frobnicate"],
    [["serve", "--base-ur", "http://x"], "--base-ur"],
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
    [["login", "--secret", "x"], "--secret"],
    [["logout", "--all"], "--all"],
    [["status", "--jsn"], "--jsn"],
    [["doctor", "now"], "now"],
  ])("%j is wrong usage", async (args, named) => {
    const { code, stdout, stderr } = await run(args);
    expect(code).toBe(2);
    expect(stdout).toBe("");
    expect(stderr).toContain(named);
    expect(stderr).toContain("mic-mcp --help");
    expect(stderr).not.toMatch(/\n\s+at /);
  });
});
