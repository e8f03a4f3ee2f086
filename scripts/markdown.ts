// Checks the form of the Markdown pages with markdownlint (`npm run check`). Generated pages and the contract are not checked.
import { execFileSync } from "node:child_process";
import { lint } from "markdownlint/sync";

const GENERATED = /^(docs\/contract\.md|test\/(golden|snapshots)\/)/;

const listed = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "*.md"], {
  encoding: "utf8",
});
const results = lint({
  files: listed.split("\n").filter((path) => path !== "" && !GENERATED.test(path)),
  config: {
    "line-length": false,
    "no-inline-html": false,
    "no-duplicate-heading": { siblings_only: true },
    "table-column-style": false,
  },
});
const report = String(results);
if (report !== "") {
  process.stderr.write(`${report}\n`);
  process.exitCode = 1;
}
