// `npm run interop:install`: installs the real clients of test/interop/ and other Node versions from npm, outside the tree.
// Install scripts do not run, because some would download more from elsewhere.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type ClientName, clientNames, folderOf, isInstalled, type NodeName, nodeNames, packages } from "./packages.ts";

function install(client: ClientName | NodeName): void {
  const { name, version } = packages[client];
  const folder = folderOf(client);
  mkdirSync(dirname(folder), { recursive: true });
  // The folder gets its final name at the end, so that an incomplete installation is never used.
  const unfinished = mkdtempSync(join(dirname(folder), ".installing-"));
  try {
    writeFileSync(
      join(unfinished, "package.json"),
      JSON.stringify({ private: true, dependencies: { [name]: version } }),
    );
    execFileSync("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--silent"], {
      cwd: unfinished,
      stdio: ["ignore", "inherit", "inherit"],
      shell: process.platform === "win32",
    });
    renameSync(unfinished, folder);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

let failed = false;
for (const client of [...clientNames, ...nodeNames]) {
  const title = `${client} ${packages[client].version}`;
  try {
    if (!isInstalled(client)) install(client);
    process.stdout.write(`${title}: ${folderOf(client)}\n`);
  } catch {
    failed = true;
    process.stdout.write(`${title}: not installed; its tests will say that they are skipped\n`);
  }
}
process.exitCode = failed ? 1 : 0;
