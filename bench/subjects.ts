// Defines the subjects of the benchmark: floors, the two best alternatives from npm, and the built server.
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { generateOrval, ivotobyFile, subjectFile, writeOpenApiDocument } from "./alternatives.ts";
import { type Calls, createRawCalls, createToolCalls, ivotobyCalls, orvalCalls } from "./calls.ts";
import type { Command } from "./client.ts";
import { type HttpSubject, TOKEN } from "./http-client.ts";
import { WORKSPACE_ID } from "./stub-responses.ts";

export interface Subject {
  readonly name: string;
  readonly command: Command;
  /** The same server on a port of this machine; absent if it supports only stdio. */
  readonly http?: HttpSubject;
  /** Absent if only the start can be measured. */
  readonly calls?: Calls;
}

/** The floor: one tool, without an SDK. */
export const BARE = "bare";
/** The subject with one hand-written tool. */
export const CALL_V1 = "call-v1";
/** The subject with 18 hand-written tools. */
export const CALL_V1_18 = "call-v1-18";
export const OURS = "mic-mcp";
const OURS_FULL = "mic-mcp, view full";

/** Whether the subject builds its own view of a page; such subjects are measured only with pages. */
export const isPagesOnly = ({ name }: Subject): boolean => name.startsWith("read-v1") || name === OURS_FULL;

/** Environment of a mic-mcp server whose journal and files are in a new folder of `parent`. */
export async function createEnvironment(baseUrl: string, parent = tmpdir()): Promise<Readonly<Record<string, string>>> {
  const folder = await mkdtemp(join(parent, "mic-mcp-bench-"));
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

function createHandWrittenSubject(name: string, file: string, baseUrl: string, calls: Calls): Subject {
  const args = [subjectFile(file)];
  return {
    name,
    command: { args, env: { BASE_URL: baseUrl } },
    http: { command: (port) => ({ args, env: { BASE_URL: baseUrl, PORT: String(port) } }) },
    calls,
  };
}

export async function createSubjects(baseUrl: string): Promise<readonly Subject[]> {
  const document = await writeOpenApiDocument();
  const env = await createEnvironment(baseUrl);
  const createOwnSubject = (name: string, calls: Calls): Subject => ({
    name,
    command: { args: [CLI], env },
    http: {
      command: (port) => ({
        args: [CLI, "serve", "--http", "--port", String(port)],
        env: { ...env, MIC_HTTP_TOKEN: TOKEN },
      }),
    },
    calls,
  });
  const ivotobyEnvironment = { API_BASE_URL: baseUrl, OPENAPI_SPEC_PATH: document, VERBOSE: "false" };
  return [
    { name: BARE, command: { args: [subjectFile("bare.mjs")], env: { BASE_URL: baseUrl } }, calls: createRawCalls() },
    createHandWrittenSubject(CALL_V1, "call-v1.mjs", baseUrl, createRawCalls()),
    createHandWrittenSubject(CALL_V1_18, "call-v1-18.mjs", baseUrl, createToolCalls()),
    ...(["summary", "full"] as const).map((view) => ({
      name: view === "summary" ? "read-v1" : "read-v1, view full",
      command: { args: [subjectFile("read-v1.mjs")], env: { BASE_URL: baseUrl } },
      calls: createRawCalls({ view }),
    })),
    {
      name: "@ivotoby/openapi-mcp-server",
      command: { args: [ivotobyFile], env: ivotobyEnvironment },
      http: {
        command: (port) => ({
          args: [ivotobyFile, "--transport", "http", "--port", String(port)],
          env: ivotobyEnvironment,
        }),
        answersOnStream: true,
      },
      calls: ivotobyCalls,
    },
    { name: "orval", command: { args: [await generateOrval(document, baseUrl)] }, calls: orvalCalls },
    createOwnSubject(OURS, createToolCalls({ view: "summary" })),
    createOwnSubject(OURS_FULL, createToolCalls({ view: "full" })),
  ];
}
