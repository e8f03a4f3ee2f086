// Who is measured: floors, the two best alternatives from npm, and the built server.
import { execFile } from "node:child_process";
import { access, mkdir, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { API_PREFIX } from "../src/contract/endpoints/endpoint.ts";
import { listMicJobs } from "../src/contract/endpoints/job-processing.ts";
import { listPlaygroundStates } from "../src/contract/endpoints/playground.ts";
import { WORKSPACE_ID } from "./answers.ts";
import type { Command } from "./client.ts";
import { makeOpenApi } from "./openapi.ts";

const execute = promisify(execFile);
export const HERE = new URL(".", import.meta.url).pathname;
const GENERATED = join(HERE, ".generated");

export interface Call {
  readonly name: string;
  readonly arguments: object;
}

/** The same three questions, as each subject's own tools take them. */
export interface Calls {
  readonly states: Call;
  readonly input: Call;
  jobs(limit: number): Call;
}

export interface Subject {
  readonly name: string;
  readonly command: Command;
  /** Absent where there is only a start to measure. */
  readonly calls?: Calls;
}

/** Asks the stub directly, in the bench's own process: no MCP at all. */
export const paths = {
  states: API_PREFIX.playground + listPlaygroundStates.path,
  input: `${API_PREFIX["job-processing"]}/v1/mic/inputs/micinput_1`,
  jobs: (limit: number) =>
    `${API_PREFIX["job-processing"]}${listMicJobs.path}?workspaceId=${WORKSPACE_ID}&limit=${limit}`,
};

const call = (name: string, args: object): Call => ({ name, arguments: args });

const rawCalls = (more: object = {}): Calls => ({
  states: call("call", { path: paths.states, ...more }),
  input: call("call", { path: paths.input, ...more }),
  jobs: (limit) => call("call", { path: paths.jobs(limit), ...more }),
});

/** What the bench alone depends on is installed when it is first needed, and never by the project's own `npm ci`. */
export async function installPeers(): Promise<void> {
  const stamp = join(HERE, "node_modules", ".package-lock.json");
  const lock = await readFile(join(HERE, "package-lock.json"), "utf8");
  const kept = await readFile(join(HERE, "node_modules", ".bench-lock"), "utf8").catch(() => "");
  if (
    kept === lock &&
    (await access(stamp).then(
      () => true,
      () => false,
    ))
  )
    return;
  process.stderr.write("bench: npm ci in bench/ …\n");
  await execute("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: HERE });
  await writeFile(join(HERE, "node_modules", ".bench-lock"), lock);
}

async function bundleEcho(): Promise<string> {
  const outfile = join(GENERATED, "echo-v1.mjs");
  await build({
    entryPoints: [join(HERE, "subjects", "echo-v1.mjs")],
    outfile,
    bundle: true,
    minify: true,
    format: "esm",
    platform: "node",
    target: "node20",
    banner: { js: 'import{createRequire as $r}from"node:module";const require=$r(import.meta.url);' },
    logLevel: "error",
  });
  return outfile;
}

/** orval generates a project from the document; its base URL is a constant of the generated code. */
async function generateOrval(document: string, baseUrl: string): Promise<string> {
  const config = join(GENERATED, "orval.config.cjs");
  const output = { target: "./orval/handlers.ts", schemas: "./orval/schemas", client: "mcp", mode: "single", baseUrl };
  await writeFile(config, `module.exports = ${JSON.stringify({ mic: { input: { target: document }, output } })};\n`);
  await execute(
    process.execPath,
    [join(HERE, "node_modules", "orval", "dist", "bin", "orval.js"), "--config", config],
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

const ivotobyCalls: Calls = {
  states: call("lst-playground-states", {}),
  input: call("get-mic-public-input", { inputId: "micinput_1" }),
  jobs: (limit) => call("lst-mic-jobs", { workspaceId: WORKSPACE_ID, limit }),
};

const orvalCalls: Calls = {
  states: call("listPlaygroundStates", {}),
  input: call("getMicPublicInput", { pathParams: { inputId: "micinput_1" } }),
  jobs: (limit) => call("listMicJobs", { queryParams: { workspaceId: WORKSPACE_ID, limit } }),
};

const ourCalls = (view: "summary" | "full"): Calls => ({
  states: call("list_states", {}),
  input: call("get_input", { inputId: "micinput_1" }),
  jobs: (limit) => call("list_jobs", { workspaceId: WORKSPACE_ID, limit, view }),
});

export const REFERENCE = "call-v1";
export const OURS = "mic-mcp";
export const OURS_FULL = "mic-mcp, view full";

/** Where a server of ours keeps its journal and its files while it is measured. */
export async function ourEnvironment(baseUrl: string): Promise<Readonly<Record<string, string>>> {
  const folder = await mkdtemp(join(tmpdir(), "mic-mcp-bench-"));
  return {
    MIC_BASE_URL: baseUrl,
    MIC_CLIENT_ID: "bench",
    MIC_CLIENT_SECRET: "bench-secret-0123456789",
    MIC_WORKSPACE_ID: WORKSPACE_ID,
    MIC_KEYCHAIN: "off",
    MIC_STATE_DIR: join(folder, "state"),
    MIC_DOWNLOAD_DIR: join(folder, "downloads"),
    XDG_CACHE_HOME: join(folder, "cache"),
  };
}

export const CLI = new URL("../dist/cli.js", import.meta.url).pathname;

export async function makeSubjects(baseUrl: string): Promise<readonly Subject[]> {
  await mkdir(GENERATED, { recursive: true });
  const document = join(GENERATED, "openapi.json");
  await writeFile(document, JSON.stringify(makeOpenApi()));
  const env = await ourEnvironment(baseUrl);
  const ours: Command = { args: [CLI], env };
  const ivotoby = join(HERE, "node_modules", "@ivotoby", "openapi-mcp-server", "bin", "mcp-server.js");
  return [
    { name: "echo-v1, bundled", command: { args: [await bundleEcho()] } },
    {
      name: REFERENCE,
      command: { args: [join(HERE, "subjects", "call-v1.mjs")], env: { BASE_URL: baseUrl } },
      calls: rawCalls(),
    },
    ...(["summary", "full"] as const).map((view) => ({
      name: view === "summary" ? "read-v1" : "read-v1, view full",
      command: { args: [join(HERE, "subjects", "read-v1.mjs")], env: { BASE_URL: baseUrl } },
      calls: rawCalls({ view }),
    })),
    {
      name: "@ivotoby/openapi-mcp-server",
      command: {
        args: [ivotoby],
        env: { API_BASE_URL: baseUrl, OPENAPI_SPEC_PATH: document, VERBOSE: "false" },
      },
      calls: ivotobyCalls,
    },
    { name: "orval", command: { args: [await generateOrval(document, baseUrl)] }, calls: orvalCalls },
    { name: OURS, command: ours, calls: ourCalls("summary") },
    { name: OURS_FULL, command: ours, calls: ourCalls("full") },
  ];
}
