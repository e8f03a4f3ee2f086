// Trial 3 in small: the database's primary is killed again and again under callers at work, with and without its replica cut off before. The
// action machines, journals and databases of two instances are real; the service executes each key once, loses answers now and then, and
// is the oracle.
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type ActionCall, createActions } from "../../src/actions/actions.ts";
import { actionsOfService, type ServiceActions } from "../../src/actions/of-service.ts";
import { createJournal } from "../../src/actions/open.ts";
import { Failure } from "../../src/failure.ts";
import { systemTiming } from "../../src/service/attempts.ts";
import { connectToPrimary } from "../../src/teams/database.ts";
import { upstreamKeysOf } from "../../src/teams/tenancy/hooks.ts";
import { postgresMissing } from "../support/postgres.ts";
import { type PostgresPair, startPostgresPair } from "../support/postgres-pair.ts";
import { runs } from "../support/thorough.ts";

const skipped = postgresMissing === undefined ? "" : ` (skipped: ${postgresMissing})`;
const isLinux = process.platform === "linux";
const FAILOVERS = runs(3, 30);
const CALLERS = 10;
const SECRET = new Uint8Array(32).fill(3);
const CALL_MS = 45_000;

/** What the service has executed: by key, and what each wish of a caller has come to. */
function createService() {
  const executed = new Map<string, { readonly id: string; readonly body: string }>();
  let requests = 0;
  const send: ActionCall["send"] = async ({ body }, key, { onAttempt }) => {
    onAttempt?.();
    requests += 1;
    const n = requests;
    await sleep(2);
    const made = executed.get(key) ?? { id: `job-${executed.size + 1}`, body };
    if (made.body !== body) throw new Error(`the key ${key} came with another body`);
    executed.set(key, made);
    await sleep(2);
    if (n % 7 > 0) return { value: { data: { id: made.id } }, drift: [], replayed: false };
    throw new Failure({ kind: "outcome_unknown", message: "Lost.", retryable: true, sideEffect: "unknown" });
  };
  return { executed, send };
}

/** One process of the deployment, as far as actions go. */
function instanceForTest(urls: readonly string[], name: string) {
  const database = connectToPrimary({ urls, durability: "synchronous", connections: 8 });
  const journal = createJournal({
    stateDir: "",
    url: undefined,
    database: database.open,
    retentionMs: 86_400_000,
    now: Date.now,
    owner: name,
  });
  const actions = createActions({
    journal: journal.open,
    timing: systemTiming,
    monotonicMs: () => performance.now(),
    isGone: () => false,
    redact: (text) => text,
    onTrouble: () => undefined,
  });
  onTestFinished(async () => {
    await journal.close();
    await database.close();
  });
  return (caller: string): ServiceActions =>
    actionsOfService({
      actions,
      journal: journal.open,
      serviceName: async () => JSON.stringify(["https://service.example", "client-1"]),
      hooks: { caller, upstreamKey: upstreamKeysOf(SECRET, caller) },
    });
}

describe.skipIf(postgresMissing !== undefined || !isLinux)(`failovers under load${skipped}`, () => {
  let pair: PostgresPair | undefined;
  beforeAll(async () => {
    pair = await startPostgresPair();
  }, 60_000);
  afterAll(() => pair?.stop());

  test(`each wish is executed once and told in the end, over ${FAILOVERS} failovers, every third with the replica cut off`, {
    timeout: 60_000 + FAILOVERS * 20_000,
  }, async () => {
    if (!pair) throw new Error("PostgreSQL is there only while tests run");
    const urls = (await pair.database()).split(",");
    const instances = ["one", "two"].map((name) => instanceForTest(urls, name));
    const { executed, send } = createService();
    const told = new Map<string, string>();
    let isOver = false;
    let wishes = 0;
    let calls = 0;

    async function wish(caller: string, at: readonly ServiceActions[], n: number): Promise<void> {
      const meant = { recipeVersionId: `${caller}-${n}` };
      // Some have a key, and all of them the same one for the same number.
      const explicitKey = n % 2 === 0 ? `wish-${n}` : undefined;
      wishes += 1;
      for (let tries = n; ; tries++) {
        const [actions = at[0]] = at.slice(tries % at.length);
        calls += 1;
        try {
          const result = await actions?.perform({
            tool: "submit_job",
            arguments: meant,
            traits: { about: "recipeVersionId", identifiedBy: ["recipeVersionId"] },
            explicitKey,
            prepare: async () => ({ path: "/jobs", ifMatch: "", body: JSON.stringify(meant) }),
            send,
            resourceId: (answer) => String(Object(answer).data.id),
            findOut: "Look.",
            context: { signal: new AbortController().signal, deadlineAt: Date.now() + CALL_MS },
          });
          told.set(meant.recipeVersionId, String(Object(result?.value).data.id));
          return;
        } catch (error) {
          if (!(error instanceof Failure)) throw error;
          await sleep(50);
        }
      }
    }

    const working = Array.from({ length: CALLERS }, async (_, index) => {
      const caller = `caller-${index}`;
      const at = instances.map((instance) => instance(caller));
      for (let n = 0; !isOver; n++) await wish(caller, at, n);
    });
    for (let failover = 1; failover <= FAILOVERS; failover++) {
      const before = told.size;
      await expect.poll(() => told.size, { timeout: 40_000 }).toBeGreaterThan(before + 30);
      if (failover % 3 === 0) await pair.cutReplicas();
      await pair.killPrimary();
      await pair.promote();
      await expect.poll(() => told.size, { timeout: 40_000 }).toBeGreaterThan(before + 60);
      await pair.join();
    }
    isOver = true;
    await Promise.all(working);

    const executedOf = [...executed.values()].map(({ body }) => body);
    const counts = `${wishes} wishes, ${calls} calls, ${executed.size} executed, ${told.size} told`;
    expect(new Set(executedOf).size, `duplicates: ${counts}`).toBe(executedOf.length);
    expect(told.size, `told: ${counts}`).toBe(wishes);
    expect(executed.size, counts).toBe(wishes);
    const ids = new Map([...executed.values()].map(({ body, id }) => [JSON.parse(body).recipeVersionId, id]));
    for (const [what, id] of told) expect(id, what).toBe(ids.get(what));
    console.info(`failovers: ${counts}`);
  });
});
