// Tests the server while it loads: a signal or the end of stdin ends it, and no line is lost.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { stubEnv } from "../../api-client/client.ts";
import { enveloped, job } from "../../contract/samples.ts";
import { answer, stubForTest } from "../../support/stub.ts";
import { folderForTest } from "../../support/temporary-folder.ts";
import { isThorough } from "../../support/thorough.ts";
import { posixMissing } from "../../support/unless.ts";
import {
  callMessage,
  initialize,
  initializedMessage,
  initializeMessage,
  type Program,
  start,
  usualEndings,
} from "./child.ts";

/** Delays from the first call until well after its answer, on fast and slow machines. */
const DELAYS_MS = [0, 5, 15, 30, 50, 80, 120, 170, 230, 320].filter((_, at) => isThorough || at % 5 === 0);

async function expectCleanExit(program: Program): Promise<void> {
  expect(await program.exit).toEqual({ code: 0, signal: null });
  expect(program.stderr()).toBe("");
}

const toLines = (...messages: readonly object[]) =>
  [initializeMessage, initializedMessage, ...messages].map((message) => `${JSON.stringify(message)}\r\n`).join("");

test("each request sent before the program is loaded is answered once, even if lines arrive in chunks and stdin ends", async () => {
  const program = start(["serve"]);
  const request = (id: number, method: string) => ({ jsonrpc: "2.0", id, method });
  const chunks = toLines(request(2, "tools/list"), request(3, "prompts/list")).match(/.{1,150}/gs) ?? [];
  for (const chunk of chunks) await new Promise((resolve) => program.process.stdin.write(chunk, resolve));
  program.process.stdin.end();
  await expectCleanExit(program);
  const lines = program.stdout().trim().split("\n");
  expect(lines.map((line) => JSON.parse(line).id).sort()).toEqual([1, 2, 3]);
});

test("a call sent before the program is loaded asks the user if the initialize line before it allows that", async () => {
  const stub = await stubForTest();
  stub.respond(() => answer(200, enveloped(job)));
  const program = start(["serve"], { env: stubEnv(stub) });
  const params = { ...initializeMessage.params, capabilities: { elicitation: {} } };
  const call = callMessage(2, "cancel_job", { jobId: "job-1", reason: "not needed" });
  for (const message of [{ ...initializeMessage, params }, initializedMessage, call]) {
    program.send(message);
    await sleep(1);
  }
  expect(await program.next()).toMatchObject({ id: 1 });
  expect(await program.next()).toMatchObject({ method: "elicitation/create" });
  expect(stub.requests.map(({ method }) => method)).not.toContain("POST");
});

/** Writes a script for node's --require: the process sends itself the signal when it starts to load dist/main.js. */
async function writeSignalScript(signal: NodeJS.Signals): Promise<string> {
  const file = join(await folderForTest(), "signal.cjs");
  const script = `const Module = require("node:module");
    const load = Module._load;
    Module._load = function (request, ...rest) {
      if (request.endsWith("main.js")) process.kill(process.pid, "${signal}");
      return load.call(this, request, ...rest);
    };`;
  await writeFile(file, script);
  return file;
}

test.skipIf(posixMissing !== undefined).each([
  ["SIGINT", [], { code: 0, signal: null }],
  ["SIGTERM", ["serve"], { code: 0, signal: null }],
  ["SIGHUP", ["--emulator"], { code: 0, signal: null }],
  // Another command than serve has Node's default.
  ["SIGTERM", ["doctor"], { code: null, signal: "SIGTERM" }],
] as const)(
  "%s while the program loads with the arguments %j ends the program with %j (needs POSIX)",
  async (signal, args, exit) => {
    const program = start(args, { node: ["--require", await writeSignalScript(signal)] });
    expect(await program.exit).toEqual(exit);
    expect(program.stderr()).toBe("");
  },
);

test.each(usualEndings)(
  "%s soon after the first call ends the server with exit code 0 and without an error",
  async (_, endSession) => {
    const exits = DELAYS_MS.map(async (ms) => {
      const program = start(["serve"]);
      await initialize(program);
      program.send(callMessage(2, "list_actions"));
      await sleep(ms);
      endSession(program);
      await expectCleanExit(program);
    });
    await Promise.all(exits);
  },
);

test.each([
  ["without the emulator", []],
  ["with the emulator", ["--emulator"]],
])("a client that never reads ends the server with exit code 0 and without an error: %s", async (_, flags) => {
  for (const isWaiting of [true, false]) {
    const program = start(["serve", ...flags]);
    program.process.stdout.destroy();
    if (isWaiting) await sleep(50);
    // Sent in one write, so that the first answer fails while the call is in flight.
    program.process.stdin.write(toLines(callMessage(2, "list_actions")));
    await expectCleanExit(program);
  }
});

test.each([
  [["--help"], 0],
  [["actions"], 0],
  [["doctor"], 1],
  [["no-such-command"], 2],
] as const)("the command %j has the same exit code if its output is not read", async (args, code) => {
  const program = start(args);
  program.process.stdout.destroy();
  expect(await program.exit).toEqual({ code, signal: null });
  expect(program.stderr()).not.toContain("EPIPE");
});
