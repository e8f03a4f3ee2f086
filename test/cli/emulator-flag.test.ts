// Tests --emulator of the commands that call tools: the emulator that `mic-mcp emulator` runs, or one inside the process.
import { stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod/v4";
import { start } from "../mcp/stdio/child.ts";
import { runInProcess as run } from "../support/command.ts";
import { refusingBaseUrl } from "../support/stub.ts";
import { folderForTest } from "../support/temporary-folder.ts";

const Facts = z.looseObject({ fileIds: z.array(z.string()), clientSecret: z.string() });

test("commands use the emulator that is running, without proxy and settings", { timeout: 120_000 }, async () => {
  const env = {
    MIC_STATE_DIR: await folderForTest(),
    HTTP_PROXY: await refusingBaseUrl(),
    MIC_CLIENT_ID: "own",
    MIC_CLIENT_SECRET_FILE: "/no/such/file",
  };
  const type = (...args: readonly string[]) => run([...args, "--emulator"], { env });
  const emulator = start(["emulator", "--stage-ms", "700"], { env });
  onTestFinished(() => void emulator.process.kill("SIGKILL"));
  const { fileIds, clientSecret } = Facts.parse(await emulator.next());
  const record = join(env.MIC_STATE_DIR, "emulator.json");
  expect((await stat(record)).mode & 0o777).toBe(0o600);

  const recipes = JSON.parse((await type("call", "list_recipes", "--json")).stdout).data;
  const versionId = recipes.find(({ name }: { name: string }) => name.startsWith("Normalize")).versionId;
  const input = {
    inputs: [{ port: "divisions", referenceId: fileIds[0] }],
    parameterValues: { level: "DISTRICT", vintage: "2026-09-30" },
  };
  const job = await type("call", "run_job", versionId, "--input", JSON.stringify(input), "waitSeconds=3");
  expect(job.code).toBe(0);
  const [next = "", jobId = ""] = /mic-mcp watch (\S+) --emulator/.exec(job.stdout) ?? [];
  expect(job.stdout).toContain(`Next: ${next} (`);
  const watched = await type("watch", jobId, "--json");
  expect(watched.code).toBe(0);
  const lines = watched.stdout.trimEnd().split("\n");
  for (const line of lines) expect(JSON.parse(line)).toMatchObject({ jobId, state: expect.any(String) });
  expect(JSON.parse(lines.at(-1) ?? "")).toMatchObject({ state: "SUCCEEDED", summary: expect.any(String) });

  const actions = JSON.parse((await type("actions", "--json")).stdout);
  expect(actions).toMatchObject({ summary: "2 actions: 2 succeeded.", counts: { succeeded: 2 } });
  const page = await type("show", "job", jobId, "--json");
  expect(JSON.parse(page.stdout)).toEqual({ path: expect.stringMatching(/job\.html$/) });
  expect(job.stdout + watched.stdout + page.stdout).not.toContain(clientSecret);
  expect((await run(["completion", "--jobs"], { env })).stdout).toBe(`${jobId}\n`);

  emulator.process.kill("SIGTERM");
  await emulator.exit;
  await expect(stat(record)).rejects.toThrow("ENOENT");
  const gone = await type("watch", jobId);
  expect(gone).toMatchObject({ code: 1, stderr: expect.stringContaining("run mic-mcp emulator in another terminal") });
});

test("without a running emulator, a command starts its own", async () => {
  const env = { MIC_STATE_DIR: await folderForTest() };
  // A killed emulator leaves its record.
  const record = { MIC_BASE_URL: await refusingBaseUrl(), MIC_CLIENT_ID: "c", MIC_CLIENT_SECRET: "s" };
  await writeFile(join(env.MIC_STATE_DIR, "emulator.json"), JSON.stringify(record));
  const found = await run(["call", "find_district", "Hyderabad", "--emulator"], { env });
  expect(found).toMatchObject({ code: 0, stdout: expect.stringContaining("Hyderabad in Telangana") });
  const jobs = await run(["call", "list_jobs", "states=running,paused", "--emulator", "--json"], { env });
  const { data } = JSON.parse(jobs.stdout);
  expect(new Set(data.map(({ state }: { state: string }) => state))).toEqual(new Set(["RUNNING", "PAUSED"]));
});
