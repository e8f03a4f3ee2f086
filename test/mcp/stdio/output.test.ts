// Tests a client that does not read: memory stays bounded, nothing blocks, and later reads return complete answers.
import { once } from "node:events";
import { expect, test } from "vitest";
import { stubEnv } from "../../api-client/client.ts";
import { enveloped, job, statesResponse } from "../../contract/samples.ts";
import { answer, type Stub, stubForTest } from "../../support/stub.ts";
import { callMessage, idRange, initialize, type Program, start, usualEndings } from "./child.ts";
import { smallHeap } from "./measurements.ts";

/** With 13 KB per answer, twice as much as the small heap holds. */
const ANSWER_COUNT = 10_000;

/** Answers that fit into a pipe, and requests that the server may have started in addition. */
const MAX_BEGUN = 800;

/** Writes calls with ids from 2; resolves when all are written to the server's stdin. */
async function writeCalls(program: Program, count: number, tool: string, args: object = {}): Promise<void> {
  const lines = idRange(2, count).map((id) => `${JSON.stringify(callMessage(id, tool, args))}\n`);
  await new Promise((resolve) => program.process.stdin.write(lines.join(""), resolve));
}

/** A session whose client stops reading and requests far more than a pipe holds. */
async function startStalledSession(stub: Stub, count: number): Promise<Program> {
  const program = start(["serve"], { env: stubEnv(stub) });
  await initialize(program);
  stub.respond(() => answer(200, enveloped(job)));
  program.process.stdout.pause();
  await writeCalls(program, count, "get_job", { jobId: "job-1" });
  await expect.poll(() => stub.requests.length).toBeGreaterThan(30);
  return program;
}

test("few requests of a client that does not read are started; when the client reads again, it gets each answer once", async () => {
  const stub = await stubForTest();
  const program = await startStalledSession(stub, 1_000);
  const countBegun = async (): Promise<number> => {
    const { length } = stub.requests;
    await new Promise((resolve) => setTimeout(resolve, 200));
    return stub.requests.length === length ? length : await countBegun();
  };
  expect(await countBegun()).toBeLessThan(MAX_BEGUN);
  program.process.stdout.resume();
  await program.answersTo(idRange(2, 1_000));
  expect(stub.requests).toHaveLength(1_000);
});

test("answers that are not read do not use memory, however many are requested", async () => {
  const program = start(["serve", "--emulator"], { node: smallHeap });
  await initialize(program);
  program.process.stdout.pause();
  await writeCalls(program, ANSWER_COUNT, "list_states");
  program.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: ANSWER_COUNT + 1 } });
  program.process.stdout.resume();
  await program.answersTo(idRange(2, ANSWER_COUNT - 1));
});

test.each(usualEndings)("answers that are not read do not delay the exit: %s", async (_, endSession) => {
  const stub = await stubForTest();
  const program = await startStalledSession(stub, 1_000);
  const exited = once(program.process, "exit");
  endSession(program);
  expect(await exited).toEqual([0, null]);
});

test("a client that does not read stderr is still served", async () => {
  const stub = await stubForTest();
  const program = start(["serve"], { env: { ...stubEnv(stub), MIC_LOG_LEVEL: "debug" } });
  await initialize(program);
  program.process.stderr.pause();
  stub.respond(() => answer(200, statesResponse));
  // Each call logs a line; together they exceed the capacity of any pipe.
  await writeCalls(program, 1_000, "list_states", { unknown: "x".repeat(300) });
  await program.answersTo(idRange(2, 1_000));
});
