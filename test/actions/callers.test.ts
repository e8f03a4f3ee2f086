// Tests that callers who share client credentials share no key, no outcome and no list.
import { createHmac } from "node:crypto";
import fc from "fast-check";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import type { ActionCall } from "../../src/actions/actions.ts";
import { openJournal } from "../../src/actions/journal.ts";
import { inputKey, processingKey, textKey } from "../../src/contract/scalars.ts";
import { Failure, toReport } from "../../src/core/failure.ts";
import { say } from "../../src/core/text.ts";
import { openSqlite } from "../../src/store/sqlite.ts";
import { createCallerActions } from "../../src/teams/tenancy/caller-actions.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { runCount } from "../support/thorough.ts";
import { createSubmission, createTestContext } from "./samples.ts";

const KEY = "monday-report";
const SECRET = new Uint8Array(32).fill(7);
const NOW = 1_800_000_000_000;
/** The client that all callers share. */
const SERVICE = JSON.stringify(["https://service.example", "client-1"]);

async function openCallerFixture() {
  const database = await openSqlite(await folderForTest());
  onTestFinished(() => database.close());
  const journal = await openJournal(database, { owner: "one", now: () => NOW });
  const context = createTestContext(journal, {
    timing: { now: () => NOW, clockMs: () => NOW, random: () => 0.5, sleep: async () => undefined },
    monotonicMs: () => NOW,
    onJournalError: (reason) => {
      throw new Error(reason);
    },
  });
  /** By upstream idempotency key. A test may record executions that another client has requested before. */
  const executed = new Map<string, { readonly body: string; readonly id: string }>();
  let isLosing = false;

  const send: ActionCall["send"] = async ({ body }, key, { onAttempt }) => {
    onAttempt?.();
    const former = executed.get(key);
    if (former && former.body !== body)
      throw new Failure({
        ...{ kind: "conflict", retryable: false, sideEffect: "none" },
        message: say`The key ${key} was used with another body.`,
        next: say`Use another key than ${key}.`,
        fieldErrors: [{ pointer: "/", code: "KEY", message: `not ${key}` }],
      });
    const execution = former ?? { body, id: `job-${executed.size + 1}` };
    executed.set(key, execution);
    if (!isLosing) return { value: { data: { id: execution.id } }, drift: [], replayed: former !== undefined };
    isLosing = false;
    const message = say`The answer was lost.`;
    throw new Failure({ kind: "outcome_unknown", message, retryable: true, sideEffect: "unknown" });
  };

  function createCaller(name: string, serviceName = async () => SERVICE) {
    const own = createCallerActions(context, { serviceName, caller: name, readUpstreamSecret: async () => SECRET });
    return {
      actions: own,
      async submit(recipeVersionId: string, explicitKey?: string) {
        const createdId = (answer: unknown) => String(Object(answer).data.id);
        try {
          const call = { ...createSubmission({ recipeVersionId }, NOW), explicitKey, send, createdId };
          const { value, idempotencyKey, replayed } = await own.perform(call);
          return { id: Object(value).data.id, key: idempotencyKey, replayed };
        } catch (error) {
          if (error instanceof Failure) return toReport(error.facts);
          throw error;
        }
      },
    };
  }

  return {
    executed,
    loseAnswer() {
      isLosing = true;
    },
    createCaller,
  };
}

type Fixture = Awaited<ReturnType<typeof openCallerFixture>>;
type Caller = ReturnType<Fixture["createCaller"]>;
let fixture: Fixture;
let ann: Caller;
beforeEach(async () => {
  fixture = await openCallerFixture();
  ann = fixture.createCaller("ann");
});

test("two callers with the same key have two actions, each with its own upstream idempotency key", async () => {
  expect(await ann.submit("recipe-1", KEY)).toEqual({ id: "job-1", key: KEY, replayed: false });
  expect(await fixture.createCaller("bob").submit("recipe-2", KEY)).toEqual({ id: "job-2", key: KEY, replayed: false });
  expect(await ann.submit("recipe-1", KEY)).toEqual({ id: "job-1", key: KEY, replayed: true });
  const upstreamKeyOf = (caller: string) =>
    `mic-${createHmac("sha256", SECRET)
      .update(JSON.stringify([caller, KEY]))
      .digest("hex")
      .slice(0, 32)}`;
  expect([...fixture.executed.keys()]).toEqual([upstreamKeyOf("ann"), upstreamKeyOf("bob")]);
  for (const grammar of [textKey, inputKey, processingKey])
    expect(grammar.safeParse(upstreamKeyOf("ann")).success).toBe(true);
});

test("listing the actions of a caller whose identity cannot be determined fails, and does not list those of all callers", async () => {
  await ann.submit("recipe-1");
  const { actions } = fixture.createCaller("bob", async () => {
    throw new Error("the team's secret cannot be opened");
  });
  await expect(actions.list({ state: undefined, limit: 20 })).rejects.toThrow("cannot be opened");
});

test("a caller in a deployment learns nothing of others' unresolved actions, by whatever client they were sent", async () => {
  fixture.loseAnswer();
  expect(await ann.submit("recipe-1")).toMatchObject({ kind: "outcome_unknown" });
  const another = JSON.stringify(["https://service.example", "client-2"]);
  for (const bob of [fixture.createCaller("bob"), fixture.createCaller("bob", async () => another)])
    expect(await bob.actions.countOfOtherClients()).toBe(0);
});

test("a lost answer is resolved with the same upstream key, and texts contain only the caller's own key", async () => {
  fixture.loseAnswer();
  const lost = await ann.submit("recipe-1", KEY);
  expect(lost).toMatchObject({ kind: "outcome_unknown", idempotencyKey: KEY });
  expect(JSON.stringify(lost)).toContain(`\\"idempotencyKey\\":\\"${KEY}\\"`);
  expect(JSON.stringify(lost)).not.toContain("mic-");
  expect(await ann.submit("recipe-1", KEY)).toMatchObject({ id: "job-1", key: KEY });
  expect(fixture.executed.size).toBe(1);
});

test("a problem that names the upstream key is reported with the caller's own key", async () => {
  const other = await openCallerFixture();
  await other.createCaller("ann").submit("recipe-2", KEY);
  const [[upstreamKey, made] = []] = other.executed;
  if (upstreamKey === undefined || !made) throw new Error("nothing was executed");
  fixture.executed.set(upstreamKey, made);
  const refused = await ann.submit("recipe-1", KEY);
  expect(refused).toMatchObject({
    kind: "conflict",
    message: `The key ${KEY} was used with another body.`,
    next: `Use another key than ${KEY}.`,
    fieldErrors: [{ pointer: "/", code: "KEY", message: `not ${KEY}` }],
  });
  expect(await ann.submit("recipe-1", KEY), "as the journal keeps it").toEqual(refused);
});

test("each action runs once and is returned only to its caller, whatever keys the callers use", async () => {
  const step = fc.record({
    name: fc.constantFrom("ann", "bob", "cleo"),
    recipe: fc.constantFrom("recipe-1", "recipe-2"),
    key: fc.constantFrom(undefined, "key-0001", 'a "key" 2'),
    isLost: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      const { createCaller, executed, loseAnswer } = await openCallerFixture();
      const owners = new Map<unknown, string>();
      /** The calls whose outcome is unknown: the next identical call resolves it under its key. */
      const unresolved = new Set<string>();
      for (const { name, recipe, key, isLost } of steps) {
        if (isLost) loseAnswer();
        const outcome = await createCaller(name).submit(recipe, key);
        const call = `${name} ${recipe}`;
        if (!("id" in outcome)) {
          unresolved.add(call);
          continue;
        }
        expect(owners.get(outcome.id) ?? name).toBe(name);
        owners.set(outcome.id, name);
        if (key !== undefined && !unresolved.delete(call)) expect(outcome.key).toBe(key);
      }
      let listed = 0;
      for (const name of ["ann", "bob", "cleo"])
        listed += (await createCaller(name).actions.list({ state: undefined, limit: 50 })).actions.length;
      expect(executed.size).toBe(listed);
    }),
    { numRuns: runCount(20, 300) },
  );
});
