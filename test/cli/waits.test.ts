// Commands that wait for the API: each ends with a result or an error and its documented exit code, never silently with 0.
import { expect, test } from "vitest";
import { enveloped, job } from "../contract/samples.ts";
import { run as runProcess } from "../mcp/stdio/child.ts";
import { runInProcess as run } from "../support/command.ts";
import { speedUpTimers } from "../support/fast-timers.ts";
import { answer, neverAnswer, refusingBaseUrl, type Step, stubForTest } from "../support/stub.ts";
import { words } from "../support/words.ts";
import { answerGeography } from "./playground.ts";

const JOB = `micjob_${"0".repeat(32)}`;

const GEOGRAPHY = [
  ...["call list_states", "call find_district name=District", "call get_geography_openapi"],
  ...["show divisions", "show divisions level=district"],
].map(words);

const JOBS = [`call get_job ${JOB}`, `show job ${JOB}`].map(words);

const LOCAL = ["actions", "doctor --offline", "resolve", "resolve --dry-run", "show actions"].map(words);

/** Commands that fail without the API. Those of LOCAL need only this machine. */
const NEED_API = [
  ...[...GEOGRAPHY, ...JOBS],
  ...["call list_jobs", "call get_usage DAY", "show usage", "doctor", `watch ${JOB} --timeout 1`].map(words),
];

const credentials = {
  MIC_CLIENT_ID: "client",
  MIC_CLIENT_SECRET: "the-secret-of-the-client",
  MIC_WORKSPACE_ID: "micws_1",
};

async function expectExitCode(args: readonly string[], expectedCode: 0 | 1, baseUrl: string): Promise<void> {
  const { code, stdout, stderr } = await run(args, { env: { ...credentials, MIC_BASE_URL: baseUrl } });
  expect(code, `${args}: ${stderr}`).toBe(expectedCode);
  expect(`${stdout}${stderr}`.trim(), `${args}`).not.toBe("");
  if (code === 1 && args[0] !== "doctor")
    expect(stderr, `${args}`).toMatch(args[0] === "watch" ? /Retrying\./ : /failed \(/);
}

async function startStubWith(step: Step): Promise<string> {
  const stub = await stubForTest();
  stub.respond(() => step);
  stub.respondToToken(() => step);
  return stub.baseUrl;
}

test.each([
  ["refuses connections", refusingBaseUrl],
  ["has a name that does not resolve", async () => "https://mic.invalid"],
  ["answers 503", () => startStubWith(answer(503))],
  ["never answers", () => startStubWith(neverAnswer)],
])("when the API %s, each command exits with its documented code and reports the error", async (_, startService) => {
  speedUpTimers();
  const baseUrl = await startService();
  for (const args of NEED_API) await expectExitCode(args, 1, baseUrl);
  for (const args of LOCAL) await expectExitCode(args, 0, baseUrl);
});

/** Starts a stub that asks every request to wait a second, and then answers it. */
async function startBusyService(): Promise<string> {
  const stub = await stubForTest();
  const requested = new Set<string>();
  stub.respond(({ target }) => {
    const isRepeated = requested.has(target);
    requested.add(target);
    if (isRepeated && target.includes(JOB)) return answer(200, enveloped({ ...job, id: JOB, state: "SUCCEEDED" }));
    if (isRepeated) return answerGeography(target);
    return answer(429, { status: "PLAYGROUND_RATE_LIMITED" }, { "retry-after": "1" });
  });
  return stub.baseUrl;
}

test("when the API asks every request to wait a second, each command waits and answers", async () => {
  speedUpTimers();
  for (const args of [...GEOGRAPHY, ...JOBS, ...LOCAL, ["watch", JOB]])
    await expectExitCode(args, 0, await startBusyService());
});

test("a command's process stays alive while the command waits", async () => {
  const { code, stdout } = await runProcess(["call", "list_states"], {
    env: { MIC_BASE_URL: await startBusyService() },
  });
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining("State GA") });
});

test("doctor reports an API whose rate limit is used up as reachable", async () => {
  const limited = answer(429, { status: "PLAYGROUND_RATE_LIMITED" }, { "retry-after": "50" });
  const { stdout } = await run(["doctor"], { env: { ...credentials, MIC_BASE_URL: await startStubWith(limited) } });
  expect(stdout).toMatch(/^ok +geography API +reachable; .* next request in 50 s$/m);
});

test("call reports each attempt that failed, before the API answers", async () => {
  speedUpTimers();
  const stub = await stubForTest();
  const steps = [answer(503), answer(503), answer(200, enveloped(job))];
  stub.respond(() => steps.shift() ?? answer(500));
  const { code, stderr } = await run(["call", "get_job", job.id], {
    env: { ...credentials, MIC_BASE_URL: stub.baseUrl },
  });
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: [2, 3].map((n) => `The API answered with HTTP status 503. Trying again (attempt ${n}).\n`).join(""),
  });
});

test("call --timeout ends a call that the API never answers, and ends a wait with the last state that was read", async () => {
  const stub = await stubForTest();
  const env = { ...credentials, MIC_BASE_URL: stub.baseUrl };
  stub.respond(() => neverAnswer);
  const ended = { code: 1, stdout: "" };
  expect(await run(["call", "get_job", job.id, "--timeout", "1"], { env })).toMatchObject({
    ...ended,
    // Both limits end at the same moment.
    stderr: expect.stringMatching(/this try had [\d.]+ s|^Stopped after 1 s \(--timeout\)\.$/m),
  });
  // A request for a list of the geography API continues for other calls.
  expect(await run(["call", "list_states", "--timeout", "1"], { env })).toMatchObject({
    ...ended,
    stderr: expect.stringContaining("Stopped after 1 s (--timeout).\n"),
  });
  stub.respond(() => answer(200, enveloped({ ...job, state: "RUNNING" })));
  const waited = await run(["call", "get_job", job.id, "--wait-seconds", "45", "--timeout", "2"], { env });
  expect(waited).toMatchObject({ code: 6, stdout: expect.stringContaining("RUNNING") });
});
