// This module implements `mic-mcp demo`, which shows the main features end to end. It runs `mic-mcp call`, which uses the code and the journal
// of an agent's call, and an emulator replaces the MIC API. `runDemo` comes first.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

/** Returns the exit code: 0 if every step had the expected result. */
export async function runDemo(): Promise<number> {
  const folder = await mkdtemp(resolve(tmpdir(), "mic-mcp-demo-"));
  // The user's own keychain, journal and downloads are not touched.
  const own = { MIC_KEYCHAIN: "off", MIC_STATE_DIR: join(folder, "state"), MIC_DOWNLOAD_DIR: folder };
  const emulator = await openEmulator();
  const { baseUrl, clientId, clientSecret, workspaceId, fileIds } = emulator;
  const call = createCaller({
    MIC_BASE_URL: baseUrl,
    MIC_CLIENT_ID: clientId,
    MIC_CLIENT_SECRET: clientSecret,
    MIC_WORKSPACE_ID: workspaceId,
    MIC_GEOGRAPHY_RATE_LIMIT: "600",
    ...own,
  });
  try {
    printHeading("Run a job from a file");
    const recipes = await call("list_recipes", {}).end;
    const job = {
      recipeVersionId: /^(\S+)\tNormalize/m.exec(recipes.text)?.[1],
      inputs: [{ port: "divisions", referenceId: fileIds[0] }],
      parameterValues: { level: "DISTRICT", vintage: "2026-09-30" },
    };
    check((await call("run_job", job).end).code === 0, "The job succeeded.");

    printHeading("Lose a response: kill the program while it waits for the API");
    const before = await emulator.countJobs();
    const nextJob = { ...job, parameterValues: { level: "DISTRICT", vintage: "2026-10-31" } };
    await emulator.hangAfterNextJob();
    const lost = call("run_job", nextJob);
    await emulator.waitForJobs(2);
    lost.kill();
    check(
      (await lost.end).code === null,
      "The API created the job, its response is lost, and the program is dead (kill -9).",
    );

    const { text: actions } = await call("list_actions", { state: "unknown" }).end;
    check(actions.includes("1 unknown"), "The journal has one action with an unknown outcome.");
    print("The same command sends the same request with the same idempotency key.");
    check((await call("run_job", nextJob).end).code === 0, "It receives the result.");
    const { code } = await call("run_job", nextJob).end;
    check(code === IS_REPLAY, "An identical call returns the first result and sends nothing.");
    const { requests, created } = await emulator.countJobs();
    check(
      created - before.created === 1,
      `The API received ${requests - before.requests} requests for this job and created 1 job.`,
    );

    printHeading("Ask about India's geography");
    await call("find_district", { name: "Allahabad" }).end;
    const ranking = await call("rank_divisions", { level: "district", by: "mandalCount", limit: 5 }).end;
    check(ranking.text.includes(", complete,"), "The answer covers all states.");

    printHeading("Pass a wrong argument");
    const wrong = { ...job, parameterValues: { ...job.parameterValues, level: "VILLAGE" } };
    const { code: failed, text } = await call("run_job", wrong).end;
    check(failed === 2 && text.includes("/parameterValues/level"), "The error names the argument; nothing was sent.");
    return 0;
  } catch (error) {
    process.stdout.write(`\nThe demo failed: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  } finally {
    await emulator.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** The exit code of a call for which nothing was sent, because an identical call ran before. */
const IS_REPLAY = 3;

const print = (text: string): void => void process.stdout.write(`${text.replace(/^(?=.)/gm, "  ")}\n`);
const printHeading = (title: string): void => void process.stdout.write(`\n${title}\n${"-".repeat(title.length)}\n`);

function check(holds: boolean, fact: string): void {
  if (!holds) throw new Error(`expected: ${fact}`);
  print(`[ok] ${fact}`);
}

/** The command that started this process, up to the entry point: node, its options, the file. */
const [program, ...entry] = [process.execPath, ...process.execArgv, process.argv[1] ?? ""];

/** Returns a function that starts `mic-mcp call` with these variables, and prints the command, its progress and its result. */
function createCaller(variables: Readonly<Record<string, string>>) {
  const inherited = Object.entries(process.env).filter(([name]) => !/^MIC_|_PROXY$/i.test(name));
  const env = { ...Object.fromEntries(inherited), ...variables };
  return (name: string, args: object) => {
    const input = JSON.stringify(args);
    print(`\n$ mic-mcp call ${name} --input '${input}'`);
    const child = spawn(program, [...entry, "call", name, "--input", input], {
      env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let text = "";
    for (const stream of [child.stdout, child.stderr])
      createInterface({ input: stream }).on("line", (line) => {
        text += `${line}\n`;
        print(line);
      });
    const end = once(child, "close").then(([code]: unknown[]) => ({ code, text }));
    return { kill: () => child.kill("SIGKILL"), end };
  };
}

const CREATE_JOB = "createMicJob";

/** Starts an emulator in this process. */
async function openEmulator() {
  const { startEmulator } = await import("../emulator/index.ts");
  // The emulator's rate limit must be above the server's own.
  const emulator = await startEmulator({ requestsPerPeer: 6_000 });
  const adminUrl = `${emulator.baseUrl}/__emulator`;
  const fetchRecorded = async (what: "requests" | "executions") => {
    const recorded: unknown = await (await fetch(`${adminUrl}/${what}`)).json();
    return Array.isArray(recorded) ? recorded.filter(({ operationId }) => operationId === CREATE_JOB) : [];
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
