// Runs the steps of `npm run check`, one for each core at a time, and prints the duration of each step and the output of those that fail.
// Each step is a command that you can also run on its own.
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { delimiter, resolve } from "node:path";

const CACHE = "node_modules/.cache/mic-mcp-check";

/** Returns the code files that differ from the main branch. */
function findChangedCode(): readonly string[] {
  const git = (...args: readonly string[]) => spawnSync("git", args, { encoding: "utf8" }).stdout ?? "";
  const base = ["origin/main", "main"].map((name) => git("merge-base", "HEAD", name).trim()).find((id) => id !== "");
  const changed = git("diff", "--name-only", "--diff-filter=d", base ?? "HEAD", "--");
  const untracked = git("ls-files", "--others", "--exclude-standard");
  return `${changed}\n${untracked}`.split("\n").filter((file) => /\.(?:tsx?|mjs)$/.test(file));
}

// `npm run spell` (.ci/run) also checks the code, which takes three times as long.
const spelled = ["**/*.md", ...findChangedCode()].map((file) => JSON.stringify(file)).join(" ");

/** The longest first, so that no core is idle at the end. */
const STEPS: Readonly<Record<string, string>> = {
  types: `tsc --incremental --tsBuildInfoFile ${CACHE}/tsconfig.tsbuildinfo`,
  structure: "vitest run --project structure",
  spelling: `cspell lint --no-progress --quiet --cache --cache-location ${CACHE}/cspell ${spelled}`,
  lint: "biome check --error-on-warnings",
  "unused code": "knip",
  "generated pages": "tsx scripts/generate.ts --check",
  "generated code": "tsx scripts/build.ts --check",
  "types of the views": "tsc -p apps",
  "types of their test page": "tsc -p test/apps/page",
};

const path = [resolve("node_modules/.bin"), process.env["PATH"]].join(delimiter);

/** Returns whether the step passed. */
async function runStep(name: string, command: string): Promise<boolean> {
  const startedAt = performance.now();
  const chunks: Buffer[] = [];
  const child = spawn(command, { shell: true, env: { ...process.env, PATH: path } });
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  const code = await new Promise<number | null>((done) => child.once("close", done));
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  process.stdout.write(`${code === 0 ? "ok    " : "FAILED"} ${seconds.padStart(5)} s  ${name}\n`);
  if (code !== 0) process.stdout.write(`${command}\n${Buffer.concat(chunks)}\n`);
  return code === 0;
}

mkdirSync(CACHE, { recursive: true });
const waiting = Object.entries(STEPS);
await Promise.all(
  Array.from({ length: availableParallelism() }, async () => {
    for (let step = waiting.shift(); step; step = waiting.shift()) if (!(await runStep(...step))) process.exitCode = 1;
  }),
);
