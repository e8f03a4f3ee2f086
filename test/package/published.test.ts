// Rehearses a release: publishes the package to a registry of this machine, installs it with the npm of each Node, runs each command.
import { mkdir, realpath } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect } from "vitest";
import type { COMMANDS } from "../../src/cli/commands.ts";
import { version } from "../../src/cli/version.ts";
import { missingReason, nodeNames, nodeOf } from "../interop/packages.ts";
import { runCommand } from "../interop/run.ts";
import { testUnless, thoroughMissing } from "../support/unless.ts";
import { driveJob } from "./drive.ts";
import { registryMissing, rehearsalForFile } from "./rehearsal.ts";
import { execute } from "./release-fixture.ts";

const { siblingPath, useRegistry } = rehearsalForFile();

/** Arguments of each command that ends by itself on a new machine, with its exit code and a part of its output. */
const starts: Readonly<Record<keyof typeof COMMANDS, readonly [args: string, code: number, output: RegExp]>> = {
  serve: ["--emulator", 0, /^$/],
  call: ["list_states --emulator", 0, /Karnataka/],
  watch: ["micjob_x --emulator", 1, /HTTP 404/],
  show: ["usage --emulator", 0, /\.html$/m],
  actions: ["--emulator", 0, /No actions/],
  resolve: ["--emulator", 0, /No action is unresolved/],
  demo: ["", 0, /created 1 job/],
  install: ["cursor", 0, /Wrote the entry/],
  uninstall: ["cursor", 0, /Removed the entry/],
  login: ["", 2, /stdin is not a terminal/],
  logout: ["", 0, /Nothing was stored/],
  doctor: ["--emulator", 0, /ok +journal +SQLite/],
  teams: ["list", 2, /MIC_DATABASE_URL is missing/],
  emulator: ["--port 1 --host 192.0.2.1", 1, /EADDRNOTAVAIL/],
  completion: ["bash", 0, /^# mic-mcp completion/],
};

/** The npm of the current Node, which also runs on the others. */
const npm = async (): Promise<string> =>
  join((await execute("npm", ["root", "--global"])).stdout.trim(), "npm", "bin", "npm-cli.js");

const nodes = [
  { name: `Node ${process.versions.node}`, path: process.execPath, missing: undefined },
  ...nodeNames.map((name) => ({ name, path: nodeOf(name), missing: missingReason(name) })),
];

describe.concurrent("the published package", () => {
  for (const [at, { name, path, missing }] of nodes.entries()) {
    // A command that works on this Node and on the newest also works on those between.
    const commands = at === 0 || at === nodes.length - 1 ? Object.entries(starts) : [];
    testUnless(
      // release.test.ts installs and runs the same package, from its file.
      registryMissing ?? missing ?? thoroughMissing,
      `the published package installs${commands.length > 0 ? ", starts every command" : ""} and runs a job on ${name}`,
      async () => {
        const home = siblingPath(`home of ${name}`);
        await mkdir(home);
        await useRegistry(home);
        const env = { PATH: `${dirname(path)}:${process.env["PATH"]}`, HOME: home, XDG_RUNTIME_DIR: home };
        await execute(
          path,
          [await npm(), "install", "--no-audit", "--no-fund", "--prefix", home, `mic-mcp@${version}`],
          { cwd: home, env },
        );
        const program = await realpath(join(home, "node_modules", ".bin", "mic-mcp"));
        for (const [command, [args, code, output]] of commands) {
          const words = args.split(" ").filter(Boolean);
          const { stdout, stderr, ...ended } = await runCommand(home, [path, program, command, ...words], env);
          expect(ended, `${command}: ${stdout}${stderr}`).toEqual({ code });
          expect(stdout + stderr, command).toMatch(output);
        }
        await driveJob({ command: path, args: [program, "serve", "--emulator"] }, home);
      },
      480_000,
    );
  }
});
