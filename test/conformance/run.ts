// `npm run conformance`: installs the official suite outside this tree if it is missing, and runs the tests that use it.
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { words } from "../support/words.ts";
import { folder, isInstalled, packages } from "./suite.ts";

const npm = process.platform === "win32" ? "npm.cmd" : "npm";
const run = (command: string, args: readonly string[], cwd?: string): number =>
  spawnSync(command, [...args], { cwd, stdio: "inherit", env: { ...process.env, CONFORMANCE: "1" } }).status ?? 1;

if (!isInstalled()) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "conformance", private: true }));
  run(npm, ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--save-exact", ...packages], folder);
}
if (!isInstalled()) process.stdout.write(`Skipped: npm could not install ${packages.join(" and ")} into ${folder}.\n`);
else
  process.exitCode = run(
    process.execPath,
    words("node_modules/vitest/vitest.mjs run --project behavior test/conformance"),
  );
