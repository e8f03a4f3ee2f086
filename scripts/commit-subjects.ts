// Checks the subjects of the commits since the main branch: `area: imperative summary`, at most 72 characters (docs/contribute/style.md).
import { spawnSync } from "node:child_process";

const MAX_LENGTH = 72;
const FORM = /^[a-z][a-z\d./, -]*: \S.*[^.\s]$/;
/** Matches a summary that begins with a word in -s, -ed or -ing: a description or the past tense instead of an imperative. */
const NOT_IMPERATIVE =
  /^[^:]+: (?!(?:address|bypass|compress|discuss|embed|exceed|feed|focus|need|pass|process|speed|suppress|bring|string)\b)\w+(?:s|ed|ing) /i;

const git = (...args: string[]) => spawnSync("git", args, { encoding: "utf8" });

const base = ["origin/main", "main"].find((branch) => git("rev-parse", "--verify", "--quiet", branch).status === 0);
const log = base === undefined ? undefined : git("log", "--no-merges", "--format=%h %s", `${base}..HEAD`);
for (const line of log?.stdout.split("\n") ?? []) {
  const [hash = "", subject = ""] = [line.slice(0, line.indexOf(" ")), line.slice(line.indexOf(" ") + 1)];
  const problems = [
    ...(subject.length > MAX_LENGTH ? [`${subject.length} characters, at most ${MAX_LENGTH}`] : []),
    ...(FORM.test(subject) ? [] : ['the form is "area: imperative summary", without a period']),
    ...(NOT_IMPERATIVE.test(subject) ? ['begin the summary with an imperative: "add", not "adds" or "added"'] : []),
  ];
  if (hash === "" || problems.length === 0) continue;
  process.exitCode = 1;
  process.stderr.write(`${hash} ${JSON.stringify(subject)}: ${problems.join("; ")}\n`);
}
