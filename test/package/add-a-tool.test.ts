// Follows docs/contribute/add-a-tool.md: adds an operation with its tool to a copy of the project, in exactly the files that the page lists.
// Then it runs the commands of the page once, and calls the tool as an agent does.
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { copyTree } from "../support/next-version.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { describeUnless, thoroughMissing } from "../support/unless.ts";
import { openClient } from "./drive.ts";

const execute = promisify(execFile);
const root = process.cwd();
const MAX_FILES = 6;
const LIMIT_MS = 1_500_000;
const PAGE = "test/snapshots/star_job.md";

let copy = "";
/** Runs a command in the copy, as a contributor does. */
async function run(command: string, ...args: readonly string[]): Promise<void> {
  const options = { cwd: copy, maxBuffer: 1 << 26, env: { ...process.env, MIC_TEST_ALL: "" } };
  await execute(command, args, options).catch((error: { readonly stdout?: string }) => {
    throw new Error(`${command} ${args.join(" ")} failed: ${error.stdout}`, { cause: error });
  });
}

/** The files that the page lists, with the new tool's name. */
async function listFiles(): Promise<readonly string[]> {
  const guide = await readFile(join(root, "docs/contribute/add-a-tool.md"), "utf8");
  const listed = [...guide.matchAll(/^\| \d+ \| `([^`]+)` \|/gm)].map(([, file = ""]) => file);
  return listed.map((file) => file.replace("<name>", "star-job"));
}

/** Inserts texts, each before the only occurrence of its anchor. */
const insertBefore =
  (...edits: readonly (readonly [anchor: string, added: string])[]) =>
  (text: string) =>
    edits.reduce((changed, [anchor, added]) => {
      expect(changed.split(anchor), anchor).toHaveLength(2);
      return changed.replace(anchor, () => `${added}${anchor}`);
    }, text);

const CONTRACT = "docs/contract.md";

const EDITS: Readonly<Record<string, (text: string) => string>> = {
  [CONTRACT]: insertBefore(
    [
      "| retryMicJob | POST",
      "| starMicJob | POST `/v1/mic/jobs/{jobId}/stars` | mic.jobs:run | 202 Envelope of Job | `4.2/star-job` |\n",
    ],
    ["| retryMicJob | `jobId` |", "| starMicJob | `jobId` | format not shown | |\n"],
    [
      "**POST /v1/mic/jobs/{jobId}/retries**",
      `**POST /v1/mic/jobs/{jobId}/stars**

| field | rule | id |
|---|---|---|
| \`reason\` | required: 1-1000 characters and at most 1000 UTF-16 units, no control characters, not blank | \`4.2/star-reason\` |

`,
    ],
  ),
  "src/contract/endpoints/job-processing.ts": insertBefore([
    "export const retryMicJob =",
    `export const starMicJob = define({
  id: "starMicJob",
  method: "POST",
  path: "/v1/mic/jobs/{jobId}/stars",
  pathParameters: z.strictObject({ jobId: opaqueId }),
  body: z.strictObject({ reason: RetryJob.shape.reason }),
  idempotencyKey: "text",
  scope: "mic.jobs:run",
  echoes: { "/id": "jobId" },
  success: { status: 202, body: envelope(Job), contradictions: jobContradictions },
});

`,
  ]),
  "src/emulator/api/jobs.ts": insertBefore(
    ["  retryMicJob,\n", "  starMicJob,\n"],
    [
      "const retryJob = defineAction(",
      "const starJob = defineAction(starMicJob, ({ path }, context) => envelopeResponse(202, findJob(path.jobId, context.world).job, context));\n\n",
    ],
    ["retryJob];", "starJob, "],
  ),
  "tools/star-job.ts": () => `import * as z from "zod/v4";
import { identifies } from "../src/actions/fingerprint.ts";
import { starMicJob } from "../src/contract/endpoints/job-processing.ts";
import type { Job } from "../src/contract/jobs.ts";
import { say } from "../src/core/text.ts";
import { keyArgument } from "../src/toolkit/arguments.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { jobStatus } from "../src/toolkit/describe/job.ts";
import { readJob } from "../src/toolkit/jobs/batch.ts";
import { describeJobWith } from "../src/toolkit/jobs/job-history.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { runAction } from "../src/toolkit/run-action.ts";

const traits = { targetArgument: "jobId", arguments: { jobId: identifies(), reason: "note" } } as const;

export const starJob = defineTool({
  endpoint: starMicJob,
  name: "star_job",
  title: "Star a job",
  description: "Request a star for a job, so that the user finds it again. A star does not change the job; use retry_job to run a job again.",
  effect: "create",
  makes: "job",
  traits,
  input: z.strictObject({
    jobId: starMicJob.pathParameters.shape.jobId,
    reason: starMicJob.body.shape.reason.describe("Reason for the star"),
    ...keyArgument("text"),
  }),
  output: outputs.resource<Job>(),
  run: (args, ctx) =>
    runAction(args, ctx, {
      endpoint: starMicJob,
      traits,
      describe: describeJobWith(ctx),
      status: jobStatus,
      readNow: (id) => readJob(id, ctx),
      findOut: say\`get_job shows the job.\`,
    }),
});
`,
  "test/tools/star-job.test.ts": () => `// Tests star_job: its reason.
import { expect, test } from "vitest";
import { enveloped, job } from "../contract/samples.ts";
import { answer } from "../support/stub.ts";
import { sessionForFile } from "../unspecified/session.ts";

const session = sessionForFile();

test("star_job accepts a reason with any letters", async () => {
  const { stub, connection } = session();
  stub.respond(() => answer(202, enveloped(job)));
  const { structured, text } = await connection.callTool("star_job", { jobId: job.id, reason: "Später ☆" });
  expect(structured, text).toMatchObject({ data: { id: job.id } });
});
`,
  "tools/index.ts": insertBefore(
    ["import { submitJob }", 'import { starJob } from "./star-job.ts";\n'],
    ["  retryJob,\n", "  starJob,\n"],
  ),
  "test/operations.ts": insertBefore([
    "  retryMicJob: row(",
    `  starMicJob: row(api.starMicJob, "star_job", {
    sample: enveloped(samples.job),
    example: async ({ createFailedJob }) => ({
      path: { jobId: (await createFailedJob()).id },
      body: { reason: "To be shown" },
    }),
  }),
`,
  ]),
};

test(`the page about adding a tool lists at most ${MAX_FILES} files in addition to the API's document`, async () => {
  const files = await listFiles();
  expect(files.length).toBeLessThanOrEqual(MAX_FILES);
  expect([...files, CONTRACT].sort()).toEqual(Object.keys(EDITS).sort());
});

// The commands of the page take minutes, which is too long for each run.
describeUnless(thoroughMissing, "with changes in only these files", () => {
  beforeAll(async () => {
    copy = await mkdtemp(join(tmpdir(), "mic-mcp-copy-"));
    await copyTree(copy);
    // Some checks list the files of git, or only those that differ from main.
    await run("git", "init", "--quiet", "--initial-branch=main");
    await run("git", "add", "--all");
    await run(
      "git",
      "-c",
      "user.name=test",
      "-c",
      "user.email=test@example.org",
      "commit",
      "--quiet",
      "--message=test",
    );
    for (const [file, edit] of Object.entries(EDITS)) {
      const text = file.includes("star-job") ? "" : await readFile(join(copy, file), "utf8");
      await writeFile(join(copy, file), edit(text));
    }
    await run("npm", "run", "fix");
  }, LIMIT_MS);
  afterAll(() => rm(copy, { recursive: true, force: true }));

  test("one `npm run fix` adds the tool to each generated list, with a page of its texts", async () => {
    for (const file of ["docs/use/tools.md", "manifest.json", PAGE])
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

  test("`npm run check` passes with the new tool", { timeout: LIMIT_MS }, async () => {
    await run("npm", "run", "check");
  });

  test("the tests of its operation and the tool pass, and leave the page of its texts unchanged", {
    timeout: LIMIT_MS,
  }, async () => {
    const page = await readFile(join(copy, PAGE), "utf8");
    const ofOperations = ["test/contract/", "test/emulator/fields.test.ts"];
    const ofTools = [
      "test/tools/star-job.test.ts",
      "test/tools/success.test.ts",
      "test/mcp/tools/",
      "test/snapshots/",
      "test/injection/",
    ];
    const titles = "--testNamePattern=star_job|starMicJob|stars|every tool|hostile text in job";
    await run("npx", "vitest", "run", "--maxWorkers=2", titles, ...ofOperations, ...ofTools);
    expect(await readFile(join(copy, PAGE), "utf8")).toBe(page);
  });
});
