// Tests that the process exits at once and silently when its client leaves (docs/contribute/architecture.md, "Shutdown and output").
import { expect, test } from "vitest";
import { stubEnv } from "../../api-client/client.ts";
import { enveloped, job } from "../../contract/samples.ts";
import { answer, neverAnswer, stubForTest } from "../../support/stub.ts";
import { callMessage, endings, initialize, initializedMessage, initializeMessage, run, start } from "./child.ts";

test.each(endings)("%s: a server without calls, or with one in flight, exits with code 0", async (_, disconnect) => {
  const stub = await stubForTest();
  stub.expect(answer(200, enveloped(job)), neverAnswer);
  const [idle, busy] = [start(["serve"]), start(["serve"], { env: stubEnv(stub) })];
  await Promise.all([idle, busy].map(initialize));
  busy.send(callMessage(2, "get_job", { jobId: "job-1" }));
  await busy.next();
  // This call uses the open connection of the first one.
  busy.send(callMessage(3, "get_job", { jobId: "job-1" }));
  await expect.poll(() => stub.requests.length).toBe(2);
  for (const program of [idle, busy]) {
    disconnect(program);
    expect((await program.exit).code).toBe(0);
    expect(program.stderr()).not.toMatch(/Error|\n\s+at /);
  }
  expect(await stub.requests[1]?.closed).toBe(false);
});

test("the end of stdin ends the process with an emulator and a call that waits", async () => {
  const program = start(["serve", "--emulator"]);
  await initialize(program);
  program.send(callMessage(2, "list_jobs", { limit: 100 }));
  const [, jobId] = /(micjob_\w+)","state":"RUNNING"/.exec(JSON.stringify(await program.next())) ?? [];
  expect(jobId).toBeDefined();
  program.send(callMessage(3, "get_job", { jobId, waitSeconds: 45 }));
  program.process.stdin.end();
  expect((await program.exit).code).toBe(0);
  // The process did not wait for the call's answer.
  expect(program.stdout()).not.toContain('"id":3');
});

test.each([
  [0, [1, 2, 3, 4]],
  [2, [1, 4]],
])(
  "requests before the end of stdin are answered, and the number of those that get no answer is logged: %d",
  async (lost, answered) => {
    const stub = await stubForTest();
    stub.respond(() => (lost === 0 ? answer(200, enveloped(job)) : neverAnswer));
    const calls = [2, 3].map((id) => callMessage(id, "get_job", { jobId: `job-${id}` }));
    const messages = [initializeMessage, initializedMessage, ...calls, { jsonrpc: "2.0", id: 4, method: "ping" }];
    const input = messages.map((message) => `${JSON.stringify(message)}\n`).join("");
    const { code, stdout, stderr } = await run(["serve"], { env: stubEnv(stub), input });
    const lines = stdout.trimEnd().split("\n");
    expect([code, lines.map((line) => JSON.parse(line).id).toSorted()]).toEqual([0, answered]);
    expect(stderr).toMatch(lost === 0 ? /^(?!.*without an answer)/s : /stdin ended; requests without an answer: 2/);
  },
);

test("calls are answered after the client has closed stderr", async () => {
  const program = start(["serve", "--emulator"], { env: { MIC_LOG_LEVEL: "debug" } });
  await initialize(program);
  program.process.stderr.destroy();
  for (let id = 2; id < 6; id++) {
    program.send(callMessage(id, "list_states"));
    expect(await program.next()).toMatchObject({ id, result: { structuredContent: {} } });
  }
});
