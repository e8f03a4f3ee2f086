// A row that tests show: each of them counted, and the failed ones named. They are vitest's, in a process of their own.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as z from "zod/v4";
import type { Outcome } from "./row.ts";

export interface Tests {
  readonly files: readonly string[];
  /** How much of everything, as the tests read it. */
  readonly env: Readonly<Record<string, string>>;
}

const Report = z.object({
  testResults: z.array(
    z.object({
      assertionResults: z.array(
        z.object({ fullName: z.string(), status: z.string(), failureMessages: z.array(z.string()).nullish() }),
      ),
      message: z.string().optional(),
    }),
  ),
});

export async function fromTests({ files, env }: Tests, seed: number): Promise<Outcome> {
  const folder = await mkdtemp(join(tmpdir(), "mic-mcp-trials-"));
  try {
    const report = join(folder, "report.json");
    const vitest = [
      "node_modules/vitest/vitest.mjs",
      "run",
      "--reporter=json",
      `--outputFile.json=${report}`,
      ...files,
    ];
    const child = spawn(process.execPath, vitest, {
      stdio: "ignore",
      env: { ...process.env, FAULT_SEED: String(seed), ...env },
    });
    await once(child, "exit");
    const { testResults } = Report.parse(JSON.parse(await readFile(report, "utf8")));
    const tests = testResults.flatMap(({ assertionResults }) => assertionResults);
    const named = (status: string) => tests.filter((each) => each.status === status);
    const failed = named("failed");
    const passed = named("passed").length;
    return {
      counts: { tests: tests.length, passed, failed: failed.length, skipped: tests.length - passed - failed.length },
      wrong: [
        ...failed.map(({ fullName, failureMessages }) => `${fullName}: ${failureMessages?.[0]?.slice(0, 1_500) ?? ""}`),
        ...(passed === 0 ? [`no test passed: ${testResults.map(({ message = "" }) => message).join("; ")}`] : []),
      ],
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
