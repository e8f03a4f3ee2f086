// Follows docs/contribute/add-a-tool.md: adds an operation with its tool to a copy of the project, in exactly the files that the page lists.
// Then it generates the rest, runs the checks, and calls the tool as an agent does.
import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { folderForTest } from "../support/temporary-folder.ts";
import { testUnless, thoroughMissing } from "../support/unless.ts";
import { openClient } from "./drive.ts";

const execute = promisify(execFile);
const root = process.cwd();
const MAX_FILES = 5;

let copy = "";
const node = async (...args: readonly string[]): Promise<string> =>
  (await execute(process.execPath, [...args], { cwd: copy, maxBuffer: 1 << 26 })).stdout;
const tsx = (...args: readonly string[]) => node("node_modules/tsx/dist/cli.mjs", ...args);

/** The files that the page lists, with the new tool's name. */
async function listFiles(): Promise<readonly string[]> {
  const guide = await readFile(join(root, "docs/contribute/add-a-tool.md"), "utf8");
  return [...guide.matchAll(/^\| \d+ \| `([^`]+)` \|/gm)].map(([, file = ""]) => file.replace("<name>", "star-job"));
}

/** Inserts texts, each before the only occurrence of its anchor. */
const insertBefore =
  (...edits: readonly (readonly [anchor: string, added: string])[]) =>
  (text: string) =>
    edits.reduce((changed, [anchor, added]) => {
      expect(changed.split(anchor), anchor).toHaveLength(2);
      return changed.replace(anchor, () => `${added}${anchor}`);
    }, text);

const EDITS: Readonly<Record<string, (text: string) => string>> = {
  "docs/contract.md": insertBefore([
    "| retryMicJob |",
    "| starMicJob | POST `/v1/mic/jobs/{jobId}/stars` | mic.jobs:run | 202 Envelope of Job | `4.2/retry-job` |\n",
  ]),
  "src/contract/endpoints/job-processing.ts": insertBefore(
    [
      "export const retryMicJob =",
      `export const starMicJob = define({
  id: "starMicJob",
  method: "POST",
  path: "/v1/mic/jobs/{jobId}/stars",
  pathParameters: z.strictObject({ jobId: opaqueId }),
  body: z.strictObject({ reason: RetryJob.shape.reason }),
  idempotencyKey: "text",
  scope: "mic.jobs:run",
  success: { status: 202, body: envelope(Job), contradictions: jobContradictions },
});

`,
    ],
    ["  retryMicJob,\n", "  starMicJob,\n"],
  ),
  "src/emulator/api/jobs.ts": insertBefore(
    ["  retryMicJob,\n", "  starMicJob,\n"],
    [
      "const retryJob = defineAction(",
      "const starJob = defineAction(starMicJob, ({ path }, context) => envelopeResponse(202, findJob(path.jobId, context.world).job, context));\n\n",
    ],
    ["  retryJob,\n];", "  starJob,\n"],
  ),
  "tools/star-job.ts": () => `import * as z from "zod/v4";
import { starMicJob } from "../src/contract/endpoints/job-processing.ts";
import type { Job } from "../src/contract/jobs.ts";
import { createJobPresenter } from "../src/toolkit/advice/job.ts";
import { keyArgument } from "../src/toolkit/arguments.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { runAction } from "../src/toolkit/run-action.ts";

const traits = { aboutArgument: "jobId", identifyingArguments: ["jobId"] };

export const starJob = defineTool({
  endpoint: starMicJob,
  name: "star_job",
  title: "Star a job",
  description: "Marks a job as one to come back to.",
  effect: "create",
  makes: "job",
  traits,
  input: z.strictObject({ ...starMicJob.pathParameters.shape, ...starMicJob.body.shape, ...keyArgument("text") }),
  output: outputs.action<Job>(),
  run: (args, call, ports) =>
    runAction(args, call, ports, {
      endpoint: starMicJob,
      traits,
      presenter: createJobPresenter(ports),
      findOut: "get_job shows the job.",
    }),
});
`,
  "test/operations.ts": insertBefore([
    "  retryMicJob: {\n",
    `  starMicJob: {
    id: "starMicJob",
    method: "POST",
    path: "/sandbox/v1/mic/jobs/{jobId}/stars",
    scopes: ["mic.jobs:run"],
    success: 202,
    answer: envelope(Job),
    tool: "star_job",
    pathFields: { jobId: requiredField("4.2/retry-job", anyId) },
    bodyFields: { reason },
    key: "text",
    extraArguments: keyArgument.text,
    example: async ({ createFailedJob }) => ({ path: { jobId: (await createFailedJob()).id }, body: { reason: "To be shown" } }),
  },
`,
  ]),
};

beforeAll(async () => {
  copy = await mkdtemp(join(tmpdir(), "mic-mcp-copy-"));
  const excluded = ["node_modules", "bench/node_modules", "dist", "release", ".git"].map((name) => join(root, name));
  await cp(root, copy, { recursive: true, filter: (path) => !excluded.includes(path) });
  await symlink(join(root, "node_modules"), join(copy, "node_modules"));
  for (const [file, edit] of Object.entries(EDITS)) {
    const text = file === "tools/star-job.ts" ? "" : await readFile(join(copy, file), "utf8");
    await writeFile(join(copy, file), edit(text));
  }
  await tsx("scripts/tools-index.ts");
  await tsx("scripts/generate.ts");
  await tsx("scripts/build.ts");
}, 120_000);
afterAll(() => rm(copy, { recursive: true, force: true }));

test(`a new tool changes exactly the files of the list, at most ${MAX_FILES}, and is in each generated list`, async () => {
  const files = await listFiles();
  expect(files.length).toBeLessThanOrEqual(MAX_FILES);
  expect([...files].sort()).toEqual(Object.keys(EDITS).sort());
  for (const file of ["README.md", "docs/interface.md", "docs/use/tools.md", "manifest.json"])
    expect(await readFile(join(copy, file), "utf8"), file).toContain("star_job");
});

test("an agent can call the new tool once, and the journal has the action", async () => {
  const state = await folderForTest();
  const args = [join(copy, "dist/cli.js"), "serve", "--emulator"];
  const { client } = await openClient({ command: process.execPath, args, env: { MIC_STATE_DIR: state } }, state);
  onTestFinished(() => client.close());
  const call = async (name: string, toolArguments: Record<string, unknown> = {}) =>
    Object((await client.callTool({ name, arguments: toolArguments })).structuredContent);
  const { tools } = await client.listTools();
  expect(tools.find(({ name }) => name === "star_job")).toMatchObject({
    inputSchema: { required: ["jobId", "reason"] },
    annotations: { readOnlyHint: false },
  });
  const [job] = (await call("list_jobs")).data;
  const { data, action } = await call("star_job", { jobId: job.id, reason: "Come back to it" });
  expect(data.id).toBe(job.id);
  const { idempotencyKey } = action;
  expect((await call("star_job", { idempotencyKey })).action).toEqual({ ...action, replayed: true });
  expect(JSON.stringify(await call("list_actions"))).toContain(idempotencyKey);
});

const vitest = (...args: readonly string[]) => node("node_modules/vitest/vitest.mjs", "run", ...args);

test("the checks of the project's structure and its generated files pass with the new tool", async () => {
  await vitest("--project", "structure");
  for (const script of ["tools-index", "generate"]) await tsx(`scripts/${script}.ts`, "--check");
}, 120_000);

// The compiler reads the whole project, and the tests of all tools take a minute, which is too long for each run.
testUnless(
  thoroughMissing,
  "the compiler and the tests of all tools pass with the new tool",
  async () => {
    await node("node_modules/typescript/bin/tsc");
    await vitest("--update", "test/snapshots/snapshots.test.ts", "test/mcp/tools/offered-tools.test.ts");
    await vitest(
      ...["test/contract/fields.test.ts", "test/emulator/fields.test.ts", "test/tools/success.test.ts"],
      ...["test/injection/hostile-answers.test.ts", "test/mcp/configuration.test.ts"],
    );
  },
  600_000,
);
