// Tests `mic-mcp emulator`, `serve --emulator` and the commands with --emulator (docs/interface.md, "Program").
import { stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod/v4";
import { basicHeader } from "../../src/credentials/oauth.ts";
import { start } from "../mcp/stdio/child.ts";
import { runInProcess as run } from "../support/command.ts";
import { emulatorForTest } from "../support/emulator.ts";
import { listeningUrl } from "../support/free-port.ts";
import { refusingBaseUrl } from "../support/stub.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { posixMissing, testUnless } from "../support/unless.ts";

const ids = z.array(z.string().min(1)).min(1);
/** Exactly the fields that docs/interface.md lists. */
const Line = z.strictObject({
  baseUrl: z.url(),
  clientId: z.string().min(1),
  clientSecret: z.string().min(1),
  workspaceId: z.string().startsWith("micws_"),
  fileIds: ids,
  assetIds: ids,
  inputIds: ids,
  recipeVersionIds: ids,
});

for (const [signal, seed] of [
  ["SIGTERM", "one"],
  ["SIGINT", "two"],
] as const)
  testUnless(
    posixMissing,
    `mic-mcp emulator prints its URL and the ids of its seed, serves, and exits with 0 on ${signal} [1/workspace-id-prefix, 4.1/states, 5/token-endpoint]`,
    async () => {
      const program = start(["emulator", "--port", "0", "--seed", seed]);
      const { baseUrl, clientId, clientSecret, workspaceId } = Line.parse(await program.next());
      expect(workspaceId).toBe((await emulatorForTest({ seed })).workspaceId);
      const states = await fetch(`${baseUrl}/api/svc/core/developers/playground/v1/geo/states`);
      expect(states.status).toBe(200);
      const token = await fetch(`${baseUrl}/sandbox/oauth/token`, {
        method: "POST",
        headers: { authorization: basicHeader({ clientId, clientSecret }) },
        body: new URLSearchParams({ grant_type: "client_credentials", scope: "mic.jobs:read" }),
      });
      expect(await token.json()).toHaveProperty("access_token");
      program.process.kill(signal);
      expect(await program.exit).toMatchObject({ code: 0, signal: null });
      expect(program.stdout().trimEnd().split("\n")).toHaveLength(1);
    },
  );

test("mic-mcp emulator listens on the given port; if the port is in use, it exits with 1, not with a usage error", async () => {
  const portHolder = createServer();
  const { port } = new URL(await listeningUrl(portHolder));
  const refused = await run(["emulator", "--port", port]);
  await new Promise((resolve) => portHolder.close(resolve));
  expect(refused).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("EADDRINUSE") });
  const program = start(["emulator", "--port", port, "--host", "127.0.0.1"]);
  expect(Line.parse(await program.next()).baseUrl).toBe(`http://127.0.0.1:${port}`);
});

test("mic-mcp emulator --host 0.0.0.0 warns that other machines can reach it, and a loopback host does not", async () => {
  const program = start(["emulator", "--host", "0.0.0.0"]);
  const { baseUrl } = Line.parse(await program.next());
  await expect.poll(program.stderr).toMatch(/--host 0\.0\.0\.0 .*every machine that can reach it/);
  expect(program.stderr().trimEnd().split("\n")).toHaveLength(1);
  expect((await fetch(`${baseUrl}/__emulator/clock`)).status).toBe(200);
  const local = start(["emulator", "--host", "127.0.0.1"]);
  await local.next();
  local.process.kill("SIGTERM");
  await local.exit;
  expect(local.stderr()).toBe("");
});

testUnless(
  posixMissing,
  "commands with --emulator use the running emulator, and ignore the proxy and the credentials of the environment",
  async () => {
    const env = {
      MIC_STATE_DIR: await folderForTest(),
      HTTP_PROXY: await refusingBaseUrl(),
      MIC_CLIENT_ID: "own",
      MIC_CLIENT_SECRET_FILE: "/no/such/file",
    };
    const type = (...args: readonly string[]) => run([...args, "--emulator"], { env });
    const emulator = start(["emulator", "--stage-ms", "700"], { env });
    onTestFinished(() => void emulator.process.kill("SIGKILL"));
    const { fileIds, clientSecret } = Line.parse(await emulator.next());
    const record = join(env.MIC_STATE_DIR, "emulator.json");
    expect((await stat(record)).mode & 0o777).toBe(0o600);

    const recipes = JSON.parse((await type("call", "list_recipes", "--json")).stdout).data;
    const versionId = recipes.find(({ name }: { name: string }) => name.startsWith("Normalize")).versionId;
    const input = {
      inputs: [{ port: "divisions", referenceId: fileIds[0] }],
      parameterValues: { level: "DISTRICT", vintage: "2026-09-30" },
    };
    const job = await type("call", "run_job", versionId, "--input", JSON.stringify(input), "waitSeconds=3");
    expect(job.code).toBe(6);
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
    expect(gone).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("run mic-mcp emulator in another terminal"),
    });
  },
);

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
