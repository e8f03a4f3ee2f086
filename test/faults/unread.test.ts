// An answer that nobody can have read was not sent: its client dies with it, or it goes into a broken pipe. Without a window
// (MIC_REPEAT_WINDOW_SECONDS=0) only this makes the same call the same action.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { dirname } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { benchForTest } from "../actions/bench.ts";
import { createJob, enveloped, job } from "../contract/samples.ts";
import { callMessage } from "../mcp/stdio/child.ts";
import { gate } from "../support/gate.ts";
import { bareEnvironment, entryArguments } from "../support/mcp.ts";
import { postgresMissing, startPostgres } from "../support/postgres.ts";
import { insideServer, startServer } from "../support/server.ts";
import { answer, holdUntil } from "../support/stub.ts";

const bench = (changes: Readonly<Record<string, string>> = {}) =>
  benchForTest({ MIC_REPEAT_WINDOW_SECONDS: "0", ...changes });

// Starts the server as its own child, calls a tool, and dies as the answer arrives. What is on stderr is the server's, too: it
// ends when both are gone.
const CLIENT = `
  const { spawn } = require("node:child_process");
  const [call, command, ...args] = process.argv.slice(1);
  const server = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  const send = (message) => server.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "raw", version: "1" } };
  send({ id: 1, method: "initialize", params });
  server.stdout.once("data", () => {
    send({ method: "notifications/initialized" });
    send(JSON.parse(call));
    server.stdout.once("data", () => process.kill(process.pid, "SIGKILL"));
  });
`;

async function dieUnread(changes?: Readonly<Record<string, string>>): Promise<void> {
  const { stub, env, stateDir } = await bench(changes);
  stub.expect(answer(202, enveloped(job)));
  const call = JSON.stringify(callMessage(2, "submit_job", createJob));
  const client = spawn(process.execPath, ["-e", CLIENT, call, process.execPath, ...entryArguments(), "serve"], {
    env: { ...bareEnvironment(dirname(stateDir)), ...env },
    stdio: ["ignore", "ignore", "pipe"],
  });
  onTestFinished(() => void client.kill("SIGKILL"));
  client.stderr.resume();
  await once(client.stderr, "end");
  const again = await (await insideServer(env)).call("submit_job", createJob);
  expect(again.action, "the next process tells it to the same call").toMatchObject({ replayed: true });
  expect(stub.requests).toHaveLength(1);
}

const isWindows = process.platform === "win32";
test.skipIf(isWindows)("a client that dies with the answer unread, on SQLite (needs POSIX)", () => dieUnread());

test.skipIf(isWindows || postgresMissing !== undefined)(
  `a client that dies with the answer unread, on PostgreSQL${postgresMissing === undefined ? "" : ` (skipped: ${postgresMissing})`}`,
  { timeout: 60_000 },
  async () => {
    const postgres = await startPostgres();
    onTestFinished(() => postgres.stop());
    await dieUnread({ MIC_JOURNAL_URL: await postgres.database() });
  },
);

/** An action that has succeeded, and whose answer never left. */
async function unsent(changes?: Readonly<Record<string, string>>) {
  const { stub, env } = await bench(changes);
  const { opened: held, open: answerNow } = gate();
  stub.expect(holdUntil(held, answer(202, enveloped(job))));
  const server = await startServer({ env });
  server.send("submit_job", createJob, 1);
  await expect.poll(() => stub.requests.length).toBe(1);
  server.breakOutput();
  answerNow();
  await server.exit;
  return { stub, server: await insideServer(env) };
}

test("an answer into a broken pipe: the next process tells it to the same call, and sends nothing", async () => {
  const { stub, server } = await unsent();
  expect((await server.call("submit_job", createJob)).action).toMatchObject({ replayed: true });
  expect(stub.requests).toHaveLength(1);
});

test("a key that is named before its outcome was sent says nothing of the outcome", async () => {
  const { stub, server } = await unsent({ MIC_REPEAT_WINDOW_SECONDS: "600" });
  const idempotencyKey = String(stub.requests[0]?.headers["idempotency-key"]);
  for (const args of [{ idempotencyKey }, createJob])
    expect((await server.call("submit_job", args)).action).toEqual({ idempotencyKey, replayed: true, attempts: 1 });
  expect(stub.requests).toHaveLength(1);
});

test("an answer that was read, by a client that goes on: the same call is a new action", async () => {
  const { stub, env } = await bench();
  stub.expect(answer(202, enveloped(job)), answer(202, enveloped({ ...job, id: "job-2" })));
  const server = await insideServer(env);
  await server.call("submit_job", createJob);
  await server.end();
  const again = await (await insideServer(env)).call("submit_job", createJob);
  expect(again.action).toMatchObject({ replayed: false });
});
