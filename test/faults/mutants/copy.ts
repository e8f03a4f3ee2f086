// Copies this tree into a temporary folder for changes and test runs. The tree itself is never changed.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as z from "zod/v4";
import { findPath, type Mutant, readSources, type TestName } from "./mutant.ts";

/** A test that exceeds this limit has no result: the machine may be slow. */
const LIMIT_MS = 300_000;

const Report = z.object({
  testResults: z.array(
    z.object({
      assertionResults: z.array(z.object({ fullName: z.string(), status: z.string() })),
      message: z.string().optional(),
    }),
  ),
});

export interface TestOutcome {
  readonly passed: readonly string[];
  readonly failed: readonly string[];
  /** Reason why there is no result: a build or load error, or a timeout. */
  readonly error: string | undefined;
}

const running = new Set<ChildProcess>();

/** Kills a process with all its children. */
function kill(child: ChildProcess): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  } catch {
    // It has already ended.
  }
}

export function killAll(): void {
  for (const child of running) kill(child);
}

/** Runs node and returns its output and exit code; the code is undefined if it was killed. */
async function run(cwd: string, args: readonly string[]): Promise<{ code: number | undefined; output: string }> {
  const child = spawn(process.execPath, [...args], { cwd, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  running.add(child);
  const chunks: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  const timer = setTimeout(() => kill(child), LIMIT_MS);
  const [code] = await once(child, "close");
  clearTimeout(timer);
  running.delete(child);
  return { code: typeof code === "number" ? code : undefined, output: Buffer.concat(chunks).toString() };
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

export async function createCopy(root: string) {
  const folder = await mkdtemp(join(tmpdir(), "mic-mcp-mutants-"));
  const listed = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], { cwd: root });
  const names = [...new Set(listed.toString().split("\0"))].filter(
    (name) => name !== "" && existsSync(join(root, name)),
  );
  for (const name of names) await cp(join(root, name), join(folder, name), { recursive: true });
  await symlink(join(root, "node_modules"), join(folder, "node_modules"), "junction");

  async function runTests(wanted: readonly TestName[]): Promise<TestOutcome> {
    const nothing = { passed: [], failed: [] };
    if (wanted.some(({ needsBuild }) => needsBuild)) {
      const { code, output } = await run(folder, ["--import", "tsx", "scripts/build.ts"]);
      if (code !== 0) return { ...nothing, error: `it cannot be built: ${output}` };
    }
    const report = join(folder, "report.json");
    await rm(report, { force: true });
    const { code, output } = await run(folder, [
      ...[join("node_modules", "vitest", "vitest.mjs"), "run", "--bail=1", "--maxWorkers=1"],
      ...["--reporter=json", "--reporter=default", `--outputFile.json=${report}`],
      `--testNamePattern=${wanted.map(({ name }) => escaped(name)).join("|")}`,
      ...new Set(wanted.map(({ file }) => file)),
    ]);
    if (code === undefined) return { ...nothing, error: `it did not end in ${LIMIT_MS / 1_000} s` };
    if (!existsSync(report)) return { ...nothing, error: `it cannot be tested: ${output}` };
    const files = Report.parse(JSON.parse(await readFile(report, "utf8"))).testResults;
    const results = files.flatMap(({ assertionResults }) => assertionResults);
    const namesWith = (status: string) =>
      results.filter((each) => each.status === status).map(({ fullName }) => fullName);
    const [passed, failed] = [namesWith("passed"), namesWith("failed")];
    const isCertain = failed.length > 0 || code === 0;
    const messages = files.map(({ message = "" }) => message).join("\n");
    return { passed, failed, error: isCertain ? undefined : `no test failed, and yet: ${messages} ${output}` };
  }

  return {
    /** Runs the tests with these names until the first failure, on the unchanged copy or with this mutant. */
    async test(wanted: readonly TestName[], mutant?: Mutant) {
      if (!mutant) return await runTests(wanted);
      const path = join(folder, findPath(mutant, readSources(folder)));
      const text = await readFile(path, "utf8");
      // A function, because replace() would interpret patterns such as "$5", which is frequent in SQL.
      await writeFile(
        path,
        text.replace(mutant.code, () => mutant.replacement),
      );
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
