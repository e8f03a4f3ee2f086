// Answers that no agent has read: the client dies with its server as the answer arrives, the pipe is broken, or the call is canceled just
// behind its answer. The same call is the same action.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { dirname } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { benchForTest as bench } from "../actions/bench.ts";
import { createJob, enveloped, job } from "../contract/samples.ts";
import { legacySpeaker, resultOf } from "../mcp/http/raw.ts";
import { callMessage } from "../mcp/stdio/child.ts";
import { gate } from "../support/gate.ts";
import { serveHttpInside } from "../support/inside.ts";
import { bareEnvironment, entryArguments } from "../support/mcp.ts";
import { postgresMissing, startPostgres } from "../support/postgres.ts";
import { readResult } from "../support/results.ts";
import { insideServer, startServer } from "../support/server.ts";
import { answer, holdUntil, type Stub } from "../support/stub.ts";

/** A replay reads the job once. */
const read = answer(200, enveloped(job));
const posts = (stub: Stub) => stub.requests.filter(({ method }) => method === "POST");

// Starts the server as its own child, calls a tool, and dies as the answer arrives. The server writes to the same stderr, which ends when both
// have ended.
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
  stub.expect(answer(202, enveloped(job)), read);
  const call = JSON.stringify(callMessage(2, "submit_job", createJob));
  const client = spawn(process.execPath, ["-e", CLIENT, call, process.execPath, ...entryArguments(), "serve"], {
    env: { ...bareEnvironment(dirname(stateDir)), ...env },
    stdio: ["ignore", "ignore", "pipe"],
  });
  onTestFinished(() => void client.kill("SIGKILL"));
  client.stderr.resume();
  await once(client.stderr, "end");
  const again = await (await insideServer(env)).call("submit_job", createJob);
  expect(again.action, "the next process replays it").toMatchObject({ replayed: true });
  expect(posts(stub)).toHaveLength(1);
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

test("an answer into a broken pipe: the next process replays it and sends nothing", async () => {
  const { stub, env } = await bench();
  const { opened: held, open: answerNow } = gate();
  stub.expect(holdUntil(held, answer(202, enveloped(job))), read);
  const server = await startServer({ env });
  server.send("submit_job", createJob, 1);
  await expect.poll(() => stub.requests.length).toBe(1);
  server.breakOutput();
  answerNow();
  await server.exit;
  const again = await (await insideServer(env)).call("submit_job", createJob);
  expect(again.action).toMatchObject({ replayed: true });
  expect(posts(stub)).toHaveLength(1);
});

test.each(["stdio", "HTTP"])("a call canceled just behind its answer, over %s", async (transport) => {
  const { stub, env } = await bench();
  stub.expect(answer(202, enveloped(job)), read);
  if (transport === "stdio") {
    const server = await insideServer(env);
    await server.call("submit_job", createJob, 7);
    server.cancel(7);
    expect((await server.call("submit_job", createJob, 8)).action).toMatchObject({ replayed: true });
  } else {
    const session = await legacySpeaker(await serveHttpInside(env));
    await session.call(7, "submit_job", createJob).answer;
    await session.notify("notifications/cancelled", { requestId: 7 });
    const again = readResult(await resultOf(session.call(8, "submit_job", createJob), 8));
    expect(again.action).toMatchObject({ replayed: true });
  }
  expect(posts(stub)).toHaveLength(1);
});
