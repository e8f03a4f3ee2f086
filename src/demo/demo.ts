// This module implements `mic-mcp demo`, which shows the main features end to end. An MCP client calls this server over stdio, and an
// emulator replaces the MIC API. The client is the v1 SDK, which is independent of the server's SDK. `runDemo` comes first.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import * as z from "zod/v4";

/** Returns the exit code: 0 if every step had the expected result. */
export async function runDemo(): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), "mic-mcp-demo-"));
  // The user's own keychain, journal and downloads are not touched.
  const own = { MIC_KEYCHAIN: "off", MIC_STATE_DIR: join(folder, "state"), MIC_DOWNLOAD_DIR: folder };
  const emulator = await openEmulator();
  const { baseUrl, clientId, clientSecret, workspaceId, fileIds } = emulator;
  const environment = {
    MIC_BASE_URL: baseUrl,
    MIC_CLIENT_ID: clientId,
    MIC_CLIENT_SECRET: clientSecret,
    MIC_WORKSPACE_ID: workspaceId,
    MIC_GEOGRAPHY_RATE_LIMIT: "600",
    ...own,
  };
  let server = await startServer(environment);
  try {
    printHeading("Run a job from a file");
    const recipes = readResult(Recipes, await call(server, "list_recipes", {})).data;
    const job = {
      recipeVersionId: recipes.find(({ name }) => name.startsWith("Normalize"))?.versionId,
      inputs: [{ port: "divisions", referenceId: fileIds[0] }],
      parameterValues: { level: "DISTRICT", vintage: "2026-09-30" },
    };
    const first = await call(server, "run_job", job);
    check(readResult(JobResult, first).data.state === "SUCCEEDED", "The job succeeded.");

    printHeading("Lose a response: kill the server while it waits for the API");
    const before = await emulator.countJobs();
    const nextJob = { ...job, parameterValues: { level: "DISTRICT", vintage: "2026-10-31" } };
    await emulator.hangAfterNextJob();
    const lost = call(server, "run_job", nextJob).catch(() => undefined);
    await emulator.waitForJobs(2);
    server.kill();
    check(
      (await lost) === undefined,
      "The API created the job, its response is lost, and the server is dead (kill -9).",
    );

    server = await startServer(environment);
    const { actions } = readResult(Unresolved, await call(server, "list_actions", { state: "unknown" }));
    check(actions.length === 1, "A new server finds one action with an unknown outcome in the journal.");
    print("The agent repeats its call. The server sends the same request with the same idempotency key.");
    const second = await call(server, "run_job", nextJob);
    check(readResult(JobResult, second).data.state === "SUCCEEDED", "The agent receives the result.");
    const repeated = await call(server, "run_job", nextJob);
    check(repeated.text.startsWith("Not run again"), "An identical call returns the first result and sends nothing.");
    const { requests, created } = await emulator.countJobs();
    check(
      created - before.created === 1,
      `The API received ${requests - before.requests} requests for this job and created 1 job.`,
    );

    printHeading("Ask about India's geography");
    await call(server, "find_district", { name: "Allahabad" });
    const ranking = await call(server, "rank_divisions", { level: "district", by: "mandalCount", limit: 5 });
    check(readResult(Ranking, ranking).complete, "The answer covers all states.");

    printHeading("Pass a wrong argument");
    const wrong = { ...job, parameterValues: { ...job.parameterValues, level: "VILLAGE" } };
    const { isError, text } = await call(server, "run_job", wrong);
    check(isError && text.includes("/parameterValues/level"), "The error names the argument; nothing was sent.");
    return 0;
  } catch (error) {
    process.stdout.write(`\nThe demo failed: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  } finally {
    await server.close();
    await emulator.close();
    await rm(folder, { recursive: true, force: true });
  }
}

// The parts of the results that the demo checks.
const Recipes = z.looseObject({ data: z.array(z.object({ versionId: z.string(), name: z.string() })) });
const JobResult = z.looseObject({ data: z.looseObject({ state: z.string() }) });
const Unresolved = z.looseObject({ actions: z.array(z.looseObject({ tool: z.string() })) });
const Ranking = z.looseObject({ complete: z.boolean() });
const ToolResult = z.looseObject({
  isError: z.boolean().default(false),
  content: z.array(z.looseObject({ text: z.string().default("") })),
  structuredContent: z.unknown().optional(),
});

/** Returns the structuredContent of a call. Throws an Error if the call failed. */
function readResult<S extends z.ZodType>(schema: S, { isError, data }: Awaited<ReturnType<typeof call>>): z.output<S> {
  if (isError) throw new Error("the last call returned an error");
  return schema.parse(data);
}

const print = (text: string): void => void process.stdout.write(`${text.replace(/^(?=.)/gm, "  ")}\n`);
const printHeading = (title: string): void => void process.stdout.write(`\n${title}\n${"-".repeat(title.length)}\n`);

function check(holds: boolean, fact: string): void {
  if (!holds) throw new Error(`expected: ${fact}`);
  print(`[ok] ${fact}`);
}

/** The command that started this process, up to the entry point: node, its options, the file. */
const [program, ...entry] = [process.execPath, ...process.execArgv, process.argv[1] ?? ""];

/** Starts `mic-mcp serve` and connects an MCP client to it. */
async function startServer(env: Record<string, string>) {
  const client = new Client({ name: "mic-mcp-demo", version: "1" });
  const transport = new StdioClientTransport({ command: program, args: [...entry, "serve"], env, stderr: "inherit" });
  await client.connect(transport);
  return {
    client,
    close: () => client.close(),
    kill: () => void (transport.pid !== null && process.kill(transport.pid, "SIGKILL")),
  };
}

/** Calls a tool, and prints the call, its progress and the text for the model. */
async function call({ client }: Awaited<ReturnType<typeof startServer>>, name: string, args: object) {
  print(`\n> ${name} ${JSON.stringify(args)}`);
  const onprogress = ({ message = "" }: { message?: string | undefined }) => print(`... ${message}`);
  const result = await client.callTool({ name, arguments: { ...args } }, undefined, { onprogress });
  const { isError, content, structuredContent } = ToolResult.parse(result);
  const text = content.map((block) => block.text).join("\n");
  print(text.trimEnd());
  return { isError, text, data: structuredContent };
}

const RecordedRequests = z.array(
  z.looseObject({ operationId: z.string().nullable(), executions: z.number().default(0) }),
);
const CREATE_JOB = "createMicJob";

/** Starts an emulator in this process. */
async function openEmulator() {
  const { startEmulator } = await import("../emulator/index.ts");
  // The emulator's rate limit must be above the server's own.
  const emulator = await startEmulator({ requestsPerPeer: 6_000 });
  const adminUrl = `${emulator.baseUrl}/__emulator`;
  const fetchRecorded = async (what: "requests" | "executions") => {
    const response = await fetch(`${adminUrl}/${what}`);
    return RecordedRequests.parse(await response.json()).filter(({ operationId }) => operationId === CREATE_JOB);
  };
  const countJobs = async () => {
    const created = (await fetchRecorded("executions")).reduce((sum, { executions }) => sum + executions, 0);
    return { requests: (await fetchRecorded("requests")).length, created };
  };
  return {
    ...emulator,
    countJobs,
    async waitForJobs(count: number): Promise<void> {
      const deadline = Date.now() + 10_000;
      while ((await countJobs()).created < count) {
        if (Date.now() > deadline) throw new Error(`the emulator did not create ${count} jobs in 10 s`);
        await sleep(50);
      }
    },
    /** The next request to create a job is executed and never answered. */
    async hangAfterNextJob(): Promise<void> {
      const body = JSON.stringify({ operationId: CREATE_JOB, fault: { kind: "hang", afterCommit: true } });
      const headers = { "content-type": "application/json" };
      await fetch(`${adminUrl}/faults`, { method: "POST", headers, body });
    },
  };
}
