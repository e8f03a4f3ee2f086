// Commands that wait for the API: each ends with a result or an error and its documented exit code, never silently with 0.
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { commandNames } from "../../src/cli/commands.ts";
import { PLAYGROUND_CONTRACT } from "../../src/contract/playground.ts";
import { enveloped, job } from "../contract/samples.ts";
import { run, start } from "../mcp/stdio/child.ts";
import { describeWithKeychain, sessionForTest } from "../support/secret-service.ts";
import { answer, neverAnswer, refusingBaseUrl, type Step, stubForTest } from "../support/stub.ts";

const JOB = `micjob_${"0".repeat(32)}`;
const FAST_TIMERS = ["--import", fileURLToPath(new URL("fast-timers.mjs", import.meta.url))];

const GEOGRAPHY = [
  ["call", "list_states"],
  ["call", "find_district", "name=Panaji"],
  ["call", "get_geography_openapi"],
  ["geography", "warm"],
  ["show", "divisions"],
  ["show", "divisions", "level=district"],
  ["geography", "warm", "--json"],
] as const;

const JOBS = [
  ["call", "get_job", JOB],
  ["show", "job", JOB],
] as const;

type CommandWords = readonly string[];
interface Case {
  readonly words: CommandWords;
  readonly code: number;
}

const cases = (all: readonly CommandWords[], code: number): readonly Case[] => all.map((words) => ({ words, code }));

const LOCAL = [["actions"], ["status"], ["resolve"], ["resolve", "--dry-run"], ["show", "actions"]] as const;

/** Exit codes without the API: 1 for commands that need it, and 0 for commands that need only this machine. */
const WITHOUT_API = [
  ...cases([...GEOGRAPHY, ...JOBS], 1),
  ...cases([["call", "list_jobs"], ["call", "get_usage", "DAY"], ["show", "usage"], ["doctor"]], 1),
  ...cases(LOCAL, 0),
];

/** Commands that send nothing to the API of the settings, or that other tests run without an API (`teams`, in test/teams/). */
const OTHERS = ["serve", "demo", "install", "logout", "teams", "migrate", "emulator", "completion"];

test("each command is run without the API", () => {
  const tested = [...WITHOUT_API.map(({ words }) => words[0]), "watch", "login"];
  expect(new Set([...tested, ...OTHERS])).toEqual(new Set(commandNames));
});

const credentials = {
  MIC_CLIENT_ID: "client",
  MIC_CLIENT_SECRET: "the-secret-of-the-client",
  MIC_WORKSPACE_ID: "micws_1",
};

interface RunOptions {
  readonly env: Readonly<Record<string, string>>;
  readonly node?: readonly string[];
}

async function expectExitCodes(all: readonly Case[], { env, node = [] }: RunOptions): Promise<void> {
  const results = all.map(async ({ words, code }) => {
    const { stdout, stderr, ...rest } = await run(words, { env: { ...credentials, ...env }, node });
    const isSilent = `${stdout}${stderr}`.trim() === "";
    return { words, isSilent, isReported: code !== 1 || words[0] === "doctor" || stderr.includes("failed ("), ...rest };
  });
  const expected = all.map(({ words, code }) => ({ words, isSilent: false, isReported: true, code }));
  expect(await Promise.all(results)).toEqual(expected);
}

/** `watch` retries until it is stopped. It reports that, and Ctrl-C ends it with 1. */
async function expectWatchRetries({ env, node = [] }: RunOptions): Promise<void> {
  const program = start(["watch", JOB], { env: { ...credentials, ...env }, node });
  const isRetrying = new Promise<void>((resolve) => {
    program.process.stderr.on("data", () => {
      if (program.stderr().split("Retrying.").length > 2) resolve();
    });
  });
  await Promise.race([isRetrying, program.exit]);
  program.process.kill("SIGINT");
  expect(await program.exit).toEqual({ code: 1, signal: null });
  expect(program.stderr()).toContain("Stopped watching");
}

/** Settings with a stub that answers every request with this step, including token requests. */
async function settingWithStub(step: Step): Promise<RunOptions> {
  const stub = await stubForTest();
  stub.respond(() => step);
  stub.respondToToken(() => step);
  return { env: { MIC_BASE_URL: stub.baseUrl } };
}

describe.each([
  [
    "refuses connections",
    async (): Promise<RunOptions> => ({ env: { MIC_BASE_URL: await refusingBaseUrl() }, node: FAST_TIMERS }),
  ],
  [
    "has a name that does not resolve",
    async (): Promise<RunOptions> => ({ env: { MIC_BASE_URL: "https://mic.invalid" }, node: FAST_TIMERS }),
  ],
  ["answers 503", async (): Promise<RunOptions> => ({ ...(await settingWithStub(answer(503))), node: FAST_TIMERS })],
  ["never answers", async (): Promise<RunOptions> => ({ ...(await settingWithStub(neverAnswer)), node: FAST_TIMERS })],
])("when the API %s", (_, setting) => {
  test("each command exits with its documented code and reports the error", { timeout: 60_000 }, async () => {
    await expectExitCodes(WITHOUT_API, await setting());
  });

  describeWithKeychain("with a keychain", () => {
    test("login stores nothing and reports the error", { timeout: 60_000 }, async () => {
      const session = await sessionForTest();
      const { env, node = [] } = await setting();
      const flags = ["--base-url", env["MIC_BASE_URL"] ?? "", "--client-id", "client", "--secret-stdin"];
      const options = { env: session.env, node, input: credentials.MIC_CLIENT_SECRET };
      const { code, stdout, stderr } = await run(["login", ...flags], options);
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr).toContain("Nothing was stored.");
    });
  });

  test("watch retries until it is stopped", { timeout: 60_000 }, async () => {
    await expectWatchRetries(await setting());
  });
});

const contract = PLAYGROUND_CONTRACT;
const states = ["GA", "KL", "TN"].map((code) => ({ code, name: `State ${code}`, districtCount: 1, mandalCount: 4 }));

function answerRequest(target: string): Step {
  if (target.includes(JOB)) return answer(200, enveloped({ ...job, id: JOB, state: "SUCCEEDED" }));
  if (target.includes("openapi")) return answer(200, { openapi: "3.1.1", info: {}, paths: {} });
  const code = /state=([A-Z]+)/.exec(target)?.[1];
  if (code === undefined) return answer(200, { contract, states });
  return answer(200, { contract, state: code, districts: [{ code: "1", name: "Panaji", mandalCount: 4 }] });
}

test("when the API asks every request to wait a second, each command waits and answers", {
  timeout: 60_000,
}, async () => {
  const results = [...GEOGRAPHY, ...JOBS, ...LOCAL, ["watch", JOB]].map(async (words) => {
    const stub = await stubForTest();
    const requested = new Set<string>();
    stub.respond(({ target }) => {
      if (requested.has(target)) return answerRequest(target);
      requested.add(target);
      return answer(429, { status: "PLAYGROUND_RATE_LIMITED" }, { "retry-after": "1" });
    });
    await expectExitCodes([{ words, code: 0 }], { env: { MIC_BASE_URL: stub.baseUrl } });
  });
  await Promise.all(results);
});

test("doctor reports an API whose rate limit is used up as reachable", async () => {
  const { env } = await settingWithStub(answer(429, { status: "PLAYGROUND_RATE_LIMITED" }, { "retry-after": "50" }));
  const { stdout } = await run(["doctor"], { env: { ...credentials, ...env } });
  expect(stdout).toMatch(/^ok +geography API +reachable; .* next request in 50 s$/m);
});

test("a command that ends without a result says so and exits with 1", async () => {
  // The timer that keeps the process alive is the only interval, so the preload calls unref() on every interval.
  const unrefTimers = "data:text/javascript,const f=setInterval;globalThis.setInterval=(c,ms)=>f(c,ms).unref()";
  const env = { MIC_BASE_URL: await refusingBaseUrl() };
  const { code, stdout, stderr } = await run(["call", "list_states"], { env, node: ["--import", unrefTimers] });
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toContain("the command ended without a result");
});
