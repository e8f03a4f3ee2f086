// Real servers over real pipes on one journal: killed at any moment, cut off, doubled. In each case the emulator has executed the action
// once, and a repeated call returns its outcome. FAULT_SEED and FAULT_KILLS choose other moments.
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openSqlite } from "../../src/actions/store/sqlite.ts";
import { type Emulator, startEmulator } from "../../src/emulator/index.ts";
import { Service } from "../emulator/service.ts";
import { sent } from "../mcp/tasks/bench.ts";
import { manualClock } from "../support/emulator.ts";
import { folderForTest } from "../support/home.ts";
import { emulatorEnv } from "../support/mcp.ts";
import type { CallResult } from "../support/results.ts";
import { type InsideServer, insideServer, type Server, startServer } from "../support/server.ts";
import { describeWithPostgres } from "../teams/services.ts";

const SEED = Number(process.env["FAULT_SEED"] ?? 20_261_121);
const KILLS = Number(process.env["FAULT_KILLS"] ?? 2);
const OPERATION = "createMicPublicInput";

let service: Service;
let emulator: Emulator;
beforeAll(async () => {
  const clock = manualClock();
  emulator = await startEmulator({ clock });
  service = new Service(emulator, clock);
});
afterAll(() => emulator.close());

const hang = { kind: "hang", afterCommit: true };
const delay = (delayMs: number) => ({ kind: "delay", delayMs });
const fault = (what: Readonly<Record<string, unknown>>) => service.fault(what, { operationId: OPERATION });

let wishes = 0;

/** One thing that an agent wants done, and what has become of it at the service. */
class Wish {
  readonly #before: Promise<number> = sent(service, OPERATION).then(({ length }) => length);
  readonly arguments = {
    workspaceId: emulator.workspaceId,
    inputKind: "M4_FILE",
    // Another file than the last one: a note does not make another action.
    referenceId: emulator.fileIds[++wishes % emulator.fileIds.length],
    clientReference: `wish ${wishes}`,
  };
  /** Typed again by somebody who orders them otherwise. */
  readonly retyped = Object.fromEntries(Object.entries(this.arguments).reverse());

  async requests() {
    return (await sent(service, OPERATION)).slice(await this.#before);
  }

  async executions(): Promise<number> {
    const keys = new Set((await this.requests()).map(({ idempotencyKey = "" }) => idempotencyKey));
    const counts = await Promise.all([...keys].map((key) => service.executions(key)));
    return counts.reduce((sum, count) => sum + count, 0);
  }

  arrived = () =>
    expect.poll(async () => (await this.requests()).length, { interval: 5, timeout: 10_000 }).toBeGreaterThan(0);
  committed = () => expect.poll(() => this.executions(), { interval: 5, timeout: 10_000 }).toBe(1);

  /** Done once, told as done, every request the same command; gives how it was told. */
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

const serverOn = (environment: Readonly<Record<string, string>>): Promise<Server> =>
  startServer({ env: { ...emulatorEnv(emulator), ...environment } });

/** What comes after a process or stands beside it need not be one. */
const insideOn = (environment: Readonly<Record<string, string>>): Promise<InsideServer> =>
  insideServer({ ...emulatorEnv(emulator), ...environment });

/** A small generator of its own: vitest runs nothing else between two of its numbers. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const TOOL = "register_input";
const patient = { timeout: 120_000 };

test(
  `killed at ${KILLS} random moments (seed ${SEED}): the next process finds out what happened`,
  patient,
  async () => {
    const random = randomFrom(SEED);
    for (let n = 0; n < KILLS; n++) {
      const env = { MIC_STATE_DIR: await folderForTest() };
      const [wish, server] = [new Wish(), await serverOn(env)];
      await server.call("list_jobs", { workspaceId: emulator.workspaceId });
      const waitMs = Math.floor(random() * 60);
      await fault(delay(Math.floor(random() * 30)));
      server.send(TOOL, wish.arguments, n);
      await sleep(waitMs);
      await server.kill();
      const before = server.received(n);
      const next = await insideOn(env);
      const result = await next.call(TOOL, n % 2 === 0 ? wish.arguments : wish.retyped);
      const { key, replayed } = await wish.expectDone(result);
      if (before) expect({ key: before.action?.idempotencyKey, replayed }).toEqual({ key, replayed: true });
      const another = await next.call(TOOL, wish.arguments);
      expect(await wish.expectDone(another), `killed after ${waitMs} ms`).toEqual({ key, replayed: true });
    }
  },
);

const endings: readonly {
  readonly name: string;
  readonly fault: Readonly<Record<string, unknown>>;
  readonly until: "arrived" | "committed";
  readonly end: (server: Server, wish: Wish) => Promise<unknown>;
  /** The journal has the outcome, or the API answers from its own memory. */
  readonly isReplayed?: true;
}[] = [
  {
    name: "killed after the service has done it and before it answers",
    fault: hang,
    until: "committed",
    end: (server) => server.kill(),
    isReplayed: true,
  },
  {
    name: "killed while the service still works on it: the next process waits for that answer",
    fault: delay(1_500),
    until: "arrived",
    end: (server) => server.kill(),
  },
  {
    name: "its output is broken before the answer is out: the next process returns what the journal has",
    fault: delay(300),
    until: "arrived",
    async end(server, wish) {
      server.breakOutput();
      await wish.committed();
      await server.exit;
    },
    isReplayed: true,
  },
  {
    name: "its input is closed while an action is under way",
    fault: delay(400),
    until: "arrived",
    async end(server) {
      server.endInput();
      await server.exit;
    },
  },
];

for (const { name, fault: what, until, end, isReplayed } of endings)
  test(name, patient, async () => {
    const env = { MIC_STATE_DIR: await folderForTest() };
    const [wish, server] = [new Wish(), await serverOn(env)];
    await fault(what);
    server.send(TOOL, wish.arguments, 1);
    await wish[until]();
    await end(server, wish);
    const next = await insideOn(env);
    if (what === hang) {
      const listed = await next.call("list_actions", { state: "unknown" });
      expect(listed.structured?.["actions"]).toMatchObject([{ tool: TOOL, state: "unknown", attempts: 1 }]);
    }
    const outcome = await wish.expectDone(await next.call(TOOL, wish.retyped));
    if (isReplayed) expect(outcome.replayed).toBe(true);
  });

test("killed between the answer and writing it down", patient, async () => {
  const stateDir = await folderForTest();
  const [wish, server] = [new Wish(), await serverOn({ MIC_STATE_DIR: stateDir })];
  await fault(delay(300));
  server.send(TOOL, wish.arguments, 1);
  await wish.arrived();
  const database = await openSqlite(stateDir);
  await database.query("BEGIN IMMEDIATE");
  await wish.committed();
  await sleep(300);
  await server.kill();
  await database.query("ROLLBACK");
  await database.close();
  const result = await (await insideOn({ MIC_STATE_DIR: stateDir })).call(TOOL, wish.arguments);
  expect(await wish.expectDone(result)).toMatchObject({ replayed: true });
});

test("a call that was cancelled is the same action when it is made again", patient, async () => {
  const [wish, server] = [new Wish(), await insideOn({ MIC_STATE_DIR: await folderForTest() })];
  await fault(hang);
  server.send(TOOL, wish.arguments, 1);
  await wish.committed();
  server.cancel(1);
  await sleep(100);
  const { key } = await wish.expectDone(await server.call(TOOL, wish.retyped));
  const another = await server.call(TOOL, wish.arguments);
  expect(await wish.expectDone(another)).toEqual({ key, replayed: true });
});

test("the very same request, sent again by the protocol, is the same action", patient, async () => {
  const env = { MIC_STATE_DIR: await folderForTest() };
  const [wish, server] = [new Wish(), await insideOn(env)];
  await fault(delay(200));
  server.send(TOOL, wish.arguments, 7);
  const first = await wish.expectDone(await server.call(TOOL, wish.arguments, 7));
  const again = await wish.expectDone(await server.call(TOOL, wish.arguments, 7));
  expect(again).toEqual({ key: first.key, replayed: true });
});

/** What holds on any journal that two servers share. */
function sharing(environment: () => Promise<Readonly<Record<string, string>>>): void {
  test("two servers that get the same call at the same moment act once", patient, async () => {
    const env = await environment();
    const [one, other] = await Promise.all([serverOn(env), insideOn(env)]);
    for (const each of [one, other]) await each.call("list_actions", {});
    for (let round = 0; round < 5; round++) {
      const wish = new Wish();
      // Else neither is told before both have asked.
      await fault(delay(200));
      const results = await Promise.all([one.call(TOOL, wish.arguments), other.call(TOOL, wish.retyped)]);
      const [first, second] = [await wish.expectDone(results[0]), await wish.expectDone(results[1])];
      expect(first.key).toBe(second.key);
      expect([first.replayed, second.replayed].sort()).toEqual([false, true]);
      expect(await wish.requests()).toHaveLength(1);
    }
  });

  test("one of two servers is killed while both have the call: the other ends it", patient, async () => {
    const env = await environment();
    const [one, other] = await Promise.all([serverOn(env), insideOn(env)]);
    const wish = new Wish();
    await fault(hang);
    one.send(TOOL, wish.arguments, 1);
    await wish.committed();
    const waiting = other.call(TOOL, wish.retyped);
    await sleep(300);
    await one.kill();
    expect(await wish.expectDone(await waiting)).toMatchObject({ replayed: true });
  });
}

describe("on one file", () => sharing(async () => ({ MIC_STATE_DIR: await folderForTest() })));

describeWithPostgres("on PostgreSQL", (postgres) => {
  const environment = async () => ({
    MIC_JOURNAL_URL: await postgres().database(),
    MIC_STATE_DIR: await folderForTest(),
  });
  sharing(environment);

  test("its connections are cut while actions are under way", patient, async () => {
    const env = await environment();
    const server = await insideOn(env);
    const random = randomFrom(SEED);
    // What could not be settled stays open: a file each.
    for (let round = 0; round < emulator.fileIds.length; round++) {
      const wish = new Wish();
      await fault(delay(Math.floor(random() * 60)));
      server.send(TOOL, wish.arguments, round);
      await sleep(random() * 80);
      await postgres().cut();
      const first = await server.answerTo(round);
      // Either it was told, or this call sent nothing, which may not be known of an earlier one: never done twice.
      if (first.error) {
        expect(first.error).toMatchObject({ kind: "internal", retryable: true });
        expect(first.error.sideEffect).not.toBe("done");
        await wish.expectDone(await server.call(TOOL, wish.retyped));
      } else await wish.expectDone(first);
    }
  });
});
