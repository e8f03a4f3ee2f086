// Copies this tree into a temporary folder for changes and test runs. The tree itself is never changed.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as z from "zod/v4";
import { copyTree } from "../../support/next-version.ts";
import { applyMutant, type Mutant, readSources } from "./mutants.ts";

/** A test that exceeds this limit has no result: the machine may be slow. */
const LIMIT_SECONDS = 300;

const Report = z.object({
  testResults: z.array(
    z.object({
      assertionResults: z.array(z.object({ fullName: z.string(), status: z.string() })),
      message: z.string().optional(),
    }),
  ),
});

/** Aborting it ends all processes that are running. */
export const stopping = new AbortController();

/** Runs node and returns its output and whether it succeeded. timeout(1) kills it with all its children. */
const run = (cwd: string, args: readonly string[]) =>
  new Promise<{ isOk: boolean; output: string }>((resolve) => {
    const command = ["--signal=KILL", String(LIMIT_SECONDS), process.execPath, ...args];
    const options = { cwd, signal: stopping.signal, maxBuffer: 100_000_000 };
    execFile("timeout", command, options, (error, stdout, stderr) =>
      resolve({ isOk: error === null, output: stdout + stderr }),
    );
  });

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

export async function createCopy() {
  const folder = await mkdtemp(join(tmpdir(), "mic-mcp-mutants-"));
  await copyTree(folder);

  async function runTests(wanted: readonly Mutant["killedBy"][]) {
    const nothing = { passed: [], failed: [] };
    if (wanted.some(({ needsBuild }) => needsBuild)) {
      const { isOk, output } = await run(folder, ["--import", "tsx", "scripts/build.ts"]);
      if (!isOk) return { ...nothing, error: `it cannot be built: ${output}` };
    }
    const report = join(folder, "report.json");
    await rm(report, { force: true });
    const { isOk, output } = await run(folder, [
      ...[join("node_modules", "vitest", "vitest.mjs"), "run", "--bail=1", "--maxWorkers=1"],
      ...["--reporter=json", "--reporter=default", `--outputFile.json=${report}`],
      `--testNamePattern=${wanted.map(({ name }) => escaped(name)).join("|")}`,
      ...new Set(wanted.map(({ file }) => file)),
    ]);
    if (!existsSync(report)) return { ...nothing, error: `it ended without a report: ${output}` };
    const files = Report.parse(JSON.parse(await readFile(report, "utf8"))).testResults;
    const results = files.flatMap(({ assertionResults }) => assertionResults);
    const namesWith = (status: string) =>
      results.filter((each) => each.status === status).map(({ fullName }) => fullName);
    const [passed, failed] = [namesWith("passed"), namesWith("failed")];
    const messages = files.map(({ message = "" }) => message).join("\n");
    const error = failed.length > 0 || isOk ? undefined : `no test failed, and yet: ${messages} ${output}`;
    return { passed, failed, error };
  }

  return {
    /** Runs the tests with these names until the first failure, on the unchanged copy or with this mutant. */
    async test(wanted: readonly Mutant["killedBy"][], mutant?: Mutant) {
      if (!mutant) return await runTests(wanted);
      const changed = applyMutant(mutant, readSources(folder));
      const path = join(folder, changed.path);
      const text = await readFile(path, "utf8");
      await writeFile(path, changed.text);
      try {
        return await runTests(wanted);
      } finally {
        await writeFile(path, text);
      }
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
export type SourceCopy = Awaited<ReturnType<typeof createCopy>>;
