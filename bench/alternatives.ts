// Prepares the alternatives that the benchmark compares with: installs and generates them.
import { execFile } from "node:child_process";
import { access, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { createOpenApi } from "./openapi.ts";

const execute = promisify(execFile);
const BENCH_FOLDER = new URL(".", import.meta.url).pathname;
export const GENERATED = join(BENCH_FOLDER, ".generated");

export const subjectFile = (name: string): string => join(BENCH_FOLDER, "subjects", name);
export const ivotobyFile = join(BENCH_FOLDER, "node_modules", "@ivotoby", "openapi-mcp-server", "bin", "mcp-server.js");

/** Writes the OpenAPI document that the alternatives are generated from, and returns its path. */
export async function writeOpenApiDocument(): Promise<string> {
  await mkdir(GENERATED, { recursive: true });
  const document = join(GENERATED, "openapi.json");
  await writeFile(document, JSON.stringify(createOpenApi()));
  return document;
}

/**
 * Installs the packages that only the benchmark needs, if the lock file has changed. The project's own `npm ci` never installs
 * them.
 */
export async function installAlternatives(): Promise<void> {
  const stamp = join(BENCH_FOLDER, "node_modules", ".package-lock.json");
  const lock = await readFile(join(BENCH_FOLDER, "package-lock.json"), "utf8");
  const installedLock = await readFile(join(BENCH_FOLDER, "node_modules", ".bench-lock"), "utf8").catch(() => "");
  if (
    installedLock === lock &&
    (await access(stamp).then(
      () => true,
      () => false,
    ))
  )
    return;
  process.stderr.write("bench: npm ci in bench/ …\n");
  await execute("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: BENCH_FOLDER });
  await writeFile(join(BENCH_FOLDER, "node_modules", ".bench-lock"), lock);
}

/** orval generates a project from the document; the base URL is a constant in the generated code. */
export async function generateOrval(document: string, baseUrl: string): Promise<string> {
  const config = join(GENERATED, "orval.config.cjs");
  const output = { target: "./orval/handlers.ts", schemas: "./orval/schemas", client: "mcp", mode: "single", baseUrl };
  await writeFile(config, `module.exports = ${JSON.stringify({ mic: { input: { target: document }, output } })};\n`);
  await execute(
    process.execPath,
    [join(BENCH_FOLDER, "node_modules", "orval", "dist", "bin", "orval.js"), "--config", config],
    {
      cwd: GENERATED,
    },
  );
  const outfile = join(GENERATED, "orval-server.mjs");
  await build({
    entryPoints: [join(GENERATED, "orval", "server.ts")],
    outfile,
    bundle: true,
    packages: "external",
    format: "esm",
    platform: "node",
    target: "node20",
    logLevel: "error",
  });
  return outfile;
}
