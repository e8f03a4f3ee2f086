// Tests real servers over real pipes on one journal: killed at chosen moments, disconnected, or run in parallel. In each case the
// emulator executes the action once, and a repeated call returns its outcome. kills.test.ts kills servers at random moments.
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { openSqlite } from "../../src/store/sqlite.ts";
import { serviceForFile } from "../emulator/service.ts";
import { emulatorEnv } from "../support/mcp.ts";
import { createSeededRandom } from "../support/random.ts";
import type { CallResult } from "../support/results.ts";
import { inProcessServerForTest, type Server, startServer } from "../support/server.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { describeWithPostgres } from "../teams/services.ts";

const SEED = Number(process.env["FAULT_SEED"] ?? 20_261_121);
const OPERATION = "createMicPublicInput";

const service = serviceForFile();

const hang = { kind: "hang", afterCommit: true };
const delay = (delayMs: number) => ({ kind: "delay", delayMs });
const fault = (what: Readonly<Record<string, unknown>>) => service().injectFault(what, { operationId: OPERATION });

let intentCount = 0;

/** One action that an agent wants, and its state at the API. */
class Intent {
  readonly #before: Promise<number> = service()
    .requests(OPERATION)
    .then(({ length }) => length);
  readonly arguments = {
    workspaceId: service().emulator.workspaceId,
    inputKind: "M4_FILE",
    // A different file each time, because a different note does not make a different action.
    referenceId: service().emulator.fileIds[++intentCount % service().emulator.fileIds.length],
    clientReference: `wish ${intentCount}`,
  };
  readonly reordered = Object.fromEntries(Object.entries(this.arguments).reverse());

  async requests() {
    return (await service().requests(OPERATION)).slice(await this.#before);
  }

  async executions(): Promise<number> {
    const keys = new Set((await this.requests()).map(({ idempotencyKey = "" }) => idempotencyKey));
    const counts = await Promise.all([...keys].map((key) => service().countExecutions(key)));
    return counts.reduce((sum, count) => sum + count, 0);
  }

  arrived = () => expect.poll(async () => (await this.requests()).length, { interval: 5 }).toBeGreaterThan(0);
  committed = () => expect.poll(() => this.executions(), { interval: 5 }).toBe(1);

  /** Expects that the action ran once, was reported as done, and that all requests were the same command. */
  async expectDone(result: CallResult): Promise<{ key: string; replayed: boolean }> {
    expect(result.error, result.text).toBeUndefined();
    const { idempotencyKey = "", replayed = false } = result.action ?? {};
    const requests = await this.requests();
    expect(new Set(requests.map((each) => each.idempotencyKey))).toEqual(new Set([idempotencyKey]));
    expect(new Set(requests.map((each) => each["bodySha256"])).size).toBe(1);
    expect(await this.executions()).toBe(1);
    return { key: idempotencyKey, replayed };
  }
}

type Environment = Readonly<Record<string, string>>;
const startServerWith = (env: Environment) => startServer({ env: { ...emulatorEnv(service().emulator), ...env } });

/** Servers that run after or in parallel to the killed process can run in this process. */
const startInProcessServer = (env: Environment) =>
  inProcessServerForTest({ ...emulatorEnv(service().emulator), ...env });

const TOOL = "register_input";

interface Interruption {
  readonly name: string;
  readonly fault: Readonly<Record<string, unknown>>;
  readonly until: "arrived" | "committed";
  readonly interrupt: (server: Server, intent: Intent, stateDir: string) => Promise<unknown>;
  /** Whether the journal has the outcome; if not, the next call sends the action again. */
  readonly isReplayed?: boolean;
}
const killed = { interrupt: (server: Server) => server.kill() };
const interruptions: readonly Interruption[] = [
  {
    ...{ name: "the server is killed after the API executes it and before the API answers", isReplayed: false },
    ...{ fault: hang, until: "committed", ...killed },
  },
  {
    name: "the server is killed while the API executes it: the next process waits for the answer",
    ...{ fault: delay(1_500), until: "arrived", ...killed },
  },
  {
    name: "the server is killed between the answer and the journal write",
    ...{ fault: delay(300), until: "arrived", isReplayed: false },
    async interrupt(server, intent, stateDir) {
      const database = await openSqlite(stateDir);
      await database.query("BEGIN IMMEDIATE");
      await intent.committed();
      await sleep(300);
      await server.kill();
      await database.query("ROLLBACK");
      await database.close();
    },
  },
  {
    name: "the server's output breaks before the result is written: the next process returns the journal's result",
    ...{ fault: delay(300), until: "arrived", isReplayed: true },
    async interrupt(server, intent) {
      server.breakOutput();
      await intent.committed();
      await server.exit;
    },
  },
  {
    name: "the server's input is closed while the action is in flight",
    ...{ fault: delay(400), until: "arrived" },
    async interrupt(server) {
      server.closeInput();
      await server.exit;
    },
  },
];

test.each(interruptions)(
  "an action runs once if $name",
  async ({ fault: what, until, interrupt, isReplayed }) => {
    const stateDir = await folderForTest();
    const [intent, server] = [new Intent(), await startServerWith({ MIC_STATE_DIR: stateDir })];
    await fault(what);
    server.send(TOOL, intent.arguments, 1);
    await intent[until]();
    await interrupt(server, intent, stateDir);
    const next = await startInProcessServer({ MIC_STATE_DIR: stateDir });
    if (what === hang) {
      const listed = await next.call("list_actions", { state: "unknown" });
      expect(listed.structured?.["actions"]).toMatchObject([{ tool: TOOL, state: "unknown", timesSent: 1 }]);
    }
    const outcome = await intent.expectDone(await next.call(TOOL, intent.reordered));
    if (isReplayed !== undefined) expect(outcome.replayed).toBe(isReplayed);
  },
  120_000,
);

test("the same protocol request, sent again, is the same action", async () => {
  const env = { MIC_STATE_DIR: await folderForTest() };
  const [intent, server] = [new Intent(), await startInProcessServer(env)];
  await fault(delay(200));
  server.send(TOOL, intent.arguments, 7);
  const first = await intent.expectDone(await server.call(TOOL, intent.arguments, 7));
  const again = await intent.expectDone(await server.call(TOOL, intent.arguments, 7));
  expect(again).toEqual({ key: first.key, replayed: true });
});

function testSharedJournal(environment: () => Promise<Environment>): void {
  test("two servers with the same call at the same moment run it once", async () => {
    const env = await environment();
    const [one, other] = await Promise.all([startServerWith(env), startInProcessServer(env)]);
    for (const each of [one, other]) await each.call("list_actions", {});
    for (let round = 0; round < 5; round++) {
      const intent = new Intent();
      // Otherwise one call could end before both have started.
      await fault(delay(200));
      const results = await Promise.all([one.call(TOOL, intent.arguments), other.call(TOOL, intent.reordered)]);
      const [first, second] = [await intent.expectDone(results[0]), await intent.expectDone(results[1])];
      expect(first.key).toBe(second.key);
      expect([first.replayed, second.replayed].sort()).toEqual([false, true]);
      expect(await intent.requests()).toHaveLength(1);
    }
  });

  test("if one of two servers with the same call is killed, the other server completes the call", async () => {
    const env = await environment();
    const [one, other] = await Promise.all([startServerWith(env), startInProcessServer(env)]);
    const intent = new Intent();
    await fault(hang);
    one.send(TOOL, intent.arguments, 1);
    await intent.committed();
    const waiting = other.call(TOOL, intent.reordered);
    await sleep(300);
    await one.kill();
    expect(await intent.expectDone(await waiting)).toMatchObject({ replayed: false });
  });
}

describe("on one file", () => testSharedJournal(async () => ({ MIC_STATE_DIR: await folderForTest() })));

describeWithPostgres("on PostgreSQL", (postgres) => {
  const environment = async () => ({
    MIC_JOURNAL_URL: await postgres().createDatabase(),
    MIC_STATE_DIR: await folderForTest(),
  });
  testSharedJournal(environment);

  test("actions in flight run at most once when database connections are cut", async () => {
    const env = await environment();
    const server = await startInProcessServer(env);
    const random = createSeededRandom(SEED);
    // Unresolved actions stay unresolved, so each uses a different file.
    for (let round = 0; round < service().emulator.fileIds.length; round++) {
      const intent = new Intent();
      await fault(delay(random.nextInteger(60)));
      server.send(TOOL, intent.arguments, round);
      await sleep(random.nextInteger(80));
      await postgres().cutConnections();
      const first = await server.waitForResult(round);
      // Either the outcome was reported, or this call sent nothing although an earlier one may have: never executed twice.
      if (first.error) {
        expect(first.error).toMatchObject({ kind: "unavailable", retryable: true });
        expect(first.error.sideEffect).not.toBe("done");
        await intent.expectDone(await server.call(TOOL, intent.reordered));
      } else await intent.expectDone(first);
    }
  });
});
