// `npm run interop:install`: installs the real clients and other Node versions from npm, outside the tree, without install scripts.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { folderOf, installed, isInstalled, packages } from "./packages.ts";

/** Files that only developers need: half of the libraries. */
const UNUSED_FILE = /\.(?:map|d\.[cm]?ts)$/;

function install(what: (typeof installed)[number]): void {
  const { name, version, dependencies, overrides } = packages[what];
  const folder = folderOf(what);
  mkdirSync(dirname(folder), { recursive: true });
  // The folder gets its final name at the end, so that an incomplete installation is never used.
  const unfinished = mkdtempSync(join(dirname(folder), ".installing-"));
  try {
    const manifest = { private: true, dependencies: dependencies ?? { [name]: version }, overrides };
    writeFileSync(join(unfinished, "package.json"), JSON.stringify(manifest));
    const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--silent"];
    // The libraries exclude each other's newest versions as optional peers.
    execFileSync("npm", ["install", ...flags, ...(dependencies ? ["--legacy-peer-deps"] : [])], {
      cwd: unfinished,
      stdio: ["ignore", "inherit", "inherit"],
      shell: process.platform === "win32",
    });
    for (const file of readdirSync(unfinished, { recursive: true, encoding: "utf8" }))
      if (UNUSED_FILE.test(file)) rmSync(join(unfinished, file), { recursive: true });
    renameSync(unfinished, folder);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

let failed = false;
for (const what of installed) {
  const title = `${what} ${packages[what].version}`;
  try {
    if (!isInstalled(what)) install(what);
    process.stdout.write(`${title}: ${folderOf(what)}\n`);
  } catch {
    failed = true;
    process.stdout.write(`${title}: not installed; its tests will say that they are skipped\n`);
  }
}
process.exitCode = failed ? 1 : 0;
