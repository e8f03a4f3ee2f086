// Tests the action machine with several processes on one journal, and simulated time, process deaths and journal errors.
import { expect, onTestFinished, test, vi } from "vitest";
import { DEDUPLICATION_WINDOW_MS } from "../../src/actions/deduplication-window.ts";
import { createLatch } from "../support/latch.ts";
import { createTestActions } from "./samples.ts";
import { type CallOutcome, createRefusal, openWorkerFixture } from "./workers.ts";

const LEASE_MS = 30_000;
const KEY = "a-key-of-its-own";

const resultOf = (outcome: CallOutcome) => {
  if ("result" in outcome) return outcome.result;
  throw new Error(`it failed: ${JSON.stringify(outcome.facts)}`);
};
const factsOf = (outcome: CallOutcome) => {
  if ("facts" in outcome) return outcome.facts;
  throw new Error(`it succeeded: ${JSON.stringify(outcome.result)}`);
};
const never = () => new Promise<never>(() => undefined);

test("another process waits while the owner lives, and returns the same outcome", async () => {
  const fixture = await openWorkerFixture();
  const [one, two] = [await fixture.startWorker("one"), await fixture.startWorker("two")];
  const { released, release } = createLatch();
  const first = one.call({ answer: () => released.then(() => "made") });
  await expect.poll(() => fixture.sent.length).toBe(1);
  const second = two.call();
  await Promise.race([fixture.waitForSleeps(5), second]);
  release();
  expect(resultOf(await second)).toMatchObject({ ...resultOf(await first), replayed: true, origin: "replayed" });
  expect(fixture.sent).toHaveLength(1);
});

test("an identical call that another process inserts between the lookup and the insert is the same action", async () => {
  const fixture = await openWorkerFixture();
  const one = await fixture.startWorker("one");
  let first: Promise<CallOutcome> | undefined;
  const two = await fixture.startWorker("two", (journal) => ({
    ...journal,
    async insert(action) {
      first ??= one.call();
      await first;
      return await journal.insert(action);
    },
  }));
  const { idempotencyKey, replayed } = resultOf(await two.call());
  expect(replayed).toBe(true);
  expect(first && resultOf(await first)).toMatchObject({ idempotencyKey, replayed: false });
  expect(fixture.sent).toHaveLength(1);
});

test("a call that waited for another returns the rejection that the other got, and a later call runs", async () => {
  const fixture = await openWorkerFixture();
  const [one, two] = [await fixture.startWorker("one"), await fixture.startWorker("two")];
  const { released, release } = createLatch();
  const first = one.call({
    answer: () => released.then(() => Promise.reject(createRefusal("rejected", { status: 422 }))),
  });
  await expect.poll(() => fixture.sent.length).toBe(1);
  const second = two.call();
  await Promise.race([fixture.waitForSleeps(5), second]);
  release();
  expect(factsOf(await second)).toEqual(factsOf(await first));
  expect(fixture.sent).toHaveLength(1);
  expect(resultOf(await two.call())).toMatchObject({ origin: "new", replayed: false });
  expect(fixture.sent).toHaveLength(2);
});

test("an action is taken over at once from an owner that is dead, and its outcome is indeterminate", async () => {
  const fixture = await openWorkerFixture();
  const [one, two] = [await fixture.startWorker("one"), await fixture.startWorker("two")];
  one.call({ answer: never });
  await expect.poll(() => fixture.sent.length).toBe(1);
  fixture.deadOwners.add("one");
  const startedAt = fixture.clock.nowMs;
  const { attempts, idempotencyKey } = resultOf(await two.call());
  expect(fixture.clock.nowMs).toBe(startedAt);
  expect(attempts).toBe(2);
  expect(fixture.sent.map(({ by, key, lost }) => ({ by, key, lost }))).toEqual([
    { by: "one", key: idempotencyKey, lost: false },
    { by: "two", key: idempotencyKey, lost: true },
  ]);
});

test("an action is taken over from a silent owner when its lease has expired, not before", async () => {
  const fixture = await openWorkerFixture();
  const [one, two] = [await fixture.startWorker("one"), await fixture.startWorker("two")];
  one.call({ answer: never });
  await expect.poll(() => fixture.sent.length).toBe(1);
  const startedAt = fixture.clock.nowMs;
  expect(resultOf(await two.call()).attempts).toBe(2);
  expect(fixture.clock.nowMs - startedAt).toBeGreaterThanOrEqual(LEASE_MS);
  expect(fixture.sent.map(({ by }) => by)).toEqual(["one", "two"]);
});

test("the lease of an action is renewed while the action is in flight, and not longer", async () => {
  const fixture = await openWorkerFixture();
  const one = await fixture.startWorker("one");
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const { released, release } = createLatch();
  const call = one.call({ key: KEY, answer: () => released });
  await expect.poll(() => fixture.sent.length).toBe(1);
  for (let beat = 0; beat < 4; beat++) {
    fixture.clock.nowMs += 10_000;
    vi.advanceTimersByTime(10_000);
    await expect.poll(async () => (await fixture.find(KEY))?.lease_until).toBe(fixture.clock.nowMs + LEASE_MS);
  }
  release();
  await call;
  vi.advanceTimersByTime(20_000);
  expect(await fixture.find(KEY)).toMatchObject({ state: "succeeded", lease_until: 0 });
  expect(vi.getTimerCount()).toBe(0);
});

test("an outcome that could not be written is reported, and the same process resolves the action again at once", async () => {
  const fixture = await openWorkerFixture();
  let isFull = true;
  const one = await fixture.startWorker("one", (journal) => ({
    ...journal,
    resolve: async (...resolved) => {
      if (isFull) throw new Error("database or disk is full");
      return await journal.resolve(...resolved);
    },
  }));
  expect(resultOf(await one.call({ key: KEY })).value).toBe("made");
  expect(await fixture.find(KEY)).toMatchObject({ state: "in_progress" });
  isFull = false;
  const startedAt = fixture.clock.nowMs;
  expect(resultOf(await one.call({ key: KEY })).attempts).toBe(2);
  expect(fixture.clock.nowMs).toBe(startedAt);
  expect(fixture.sent.map(({ lost }) => lost)).toEqual([false, true]);
});

test("simultaneous calls with the same explicit key send one request", async () => {
  const fixture = await openWorkerFixture();
  const one = await fixture.startWorker("one");
  const { released, release } = createLatch();
  const calls = [1, 2, 3].map(() => one.call({ key: KEY, answer: () => released.then(() => "made") }));
  // Two of the three calls wait.
  await Promise.race([fixture.waitForSleeps(6), ...calls]);
  release();
  const results = (await Promise.all(calls)).map(resultOf);
  expect(results.map(({ replayed }) => replayed).sort()).toEqual([false, true, true]);
  expect(fixture.sent).toHaveLength(1);
});

test("an action is in the journal before it is sent, and is not sent if it cannot be recorded", async () => {
  const fixture = await openWorkerFixture();
  let found: unknown;
  const one = await fixture.startWorker("one");
  await one.call({ key: KEY, answer: async () => (found = await fixture.find(fixture.sent[0]?.key ?? "")) });
  expect(found).toMatchObject({ key: KEY, state: "in_progress", owner: "one", body: fixture.sent[0]?.body });
  const two = await fixture.startWorker("two", (journal) => ({
    ...journal,
    insert: async () => {
      throw new Error("database or disk is full");
    },
  }));
  const facts = factsOf(await two.call({ key: `${KEY}-2` }));
  expect(facts).toMatchObject({ kind: "internal", sideEffect: "none" });
  expect(fixture.sent).toHaveLength(1);
});

test("an action that may have been recorded is not reported as having no effect", async () => {
  const fixture = await openWorkerFixture();
  const one = await fixture.startWorker("one", (journal) => ({
    ...journal,
    async insert(action) {
      await journal.insert(action);
      throw new Error("the connection broke");
    },
  }));
  expect(factsOf(await one.call({ key: KEY }))).toMatchObject({ kind: "internal", sideEffect: "unknown" });
  expect(await fixture.find(KEY)).toMatchObject({ state: "in_progress" });
  expect(fixture.sent).toEqual([]);
});

test("an internal error while sending leaves the outcome unknown", async () => {
  const fixture = await openWorkerFixture();
  const one = await fixture.startWorker("one");
  const throwTypeError = async () => {
    throw new TypeError("undefined is not a function");
  };
  const facts = factsOf(await one.call({ answer: throwTypeError }));
  expect(facts).toMatchObject({ kind: "outcome_unknown", sideEffect: "unknown", retryable: true });
  expect(await fixture.find(facts.idempotencyKey ?? "")).toMatchObject({ state: "unknown", attempts: 1 });
});

test("a call ends within its time limit if the journal rejects an insert as a duplicate but returns no such action", async () => {
  const fixture = await openWorkerFixture();
  let insertAttempts = 0;
  const one = await fixture.startWorker("one", (journal) => ({
    ...journal,
    insert: async () => {
      insertAttempts += 1;
      if (insertAttempts > 1_000) throw new Error("asked for ever");
      return undefined;
    },
  }));
  const startedAt = fixture.clock.nowMs;
  const facts = factsOf(await one.call());
  expect(facts).toMatchObject({
    kind: "internal",
    sideEffect: "unknown",
    message: expect.stringMatching(/returns none/),
  });
  expect(facts.message).toMatch(/This call sent nothing/);
  expect(insertAttempts, "with a pause in between").toBeLessThanOrEqual(1 + (fixture.clock.nowMs - startedAt) / 200);
  expect(fixture.sent).toHaveLength(0);
});

test("an insert that was refused because of another action is repeated once that action has ended", async () => {
  const fixture = await openWorkerFixture();
  let isRefused = true;
  const one = await fixture.startWorker("one", (journal) => ({
    ...journal,
    insert: async (action) => {
      if (!isRefused) return await journal.insert(action);
      isRefused = false;
      return undefined;
    },
  }));
  expect(resultOf(await one.call())).toMatchObject({ replayed: false, attempts: 1 });
  expect(fixture.sent).toHaveLength(1);
});

test.each([
  ["a rejection", createRefusal("rejected", { status: 422 })],
  ["a rate limit", createRefusal("rate_limited", { retryable: true })],
])("the same bytes are sent again under the same key after %s, even a day later", async (_what, failure) => {
  const fixture = await openWorkerFixture();
  const one = await fixture.startWorker("one");
  const answer = () => Promise.reject(failure);
  expect(factsOf(await one.call({ key: KEY, answer }))).toMatchObject({ sideEffect: "none" });
  fixture.clock.nowMs += 86_400_001;
  expect(resultOf(await one.call({ key: KEY }))).toMatchObject({ replayed: false, attempts: 2, origin: "new" });
  expect(
    fixture.sent.map(({ key, lost }) => ({ key, lost })),
    "nothing had happened",
  ).toEqual([
    { key: KEY, lost: false },
    { key: KEY, lost: false },
  ]);
});

test("an action that took effect with an unreadable answer does not run again", async () => {
  const fixture = await openWorkerFixture();
  const one = await fixture.startWorker("one");
  const unreadable = () => Promise.reject(createRefusal("contract_violation", { sideEffect: "done" }));
  const facts = factsOf(await one.call({ answer: unreadable }));
  const again = factsOf(await one.call());
  expect(again).toEqual({ ...facts, message: `Not run again: an identical call ran 0 s ago. ${facts.message}` });
  expect(fixture.sent).toHaveLength(1);
});

test("a call without a key returns the rejection that another call got for an unknown action it was about to resume", async () => {
  const fixture = await openWorkerFixture();
  const one = await fixture.startWorker("one");
  await one.call({ answer: () => Promise.reject(createRefusal("outcome_unknown", { sideEffect: "unknown" })) });
  let isFirst = true;
  const two = await fixture.startWorker("two", (journal) => ({
    ...journal,
    async claim() {
      // The other call is faster: it resumes the action, and the API rejects it.
      if (isFirst) await one.call({ answer: () => Promise.reject(createRefusal("rejected", { status: 422 })) });
      isFirst = false;
      return undefined;
    },
  }));
  const facts = factsOf(await two.call({ arguments: { recipeVersionId: "recipe-1", clientReference: "other" } }));
  expect(facts).toMatchObject({ kind: "rejected", status: 422 });
  expect(fixture.sent).toHaveLength(2);
});

test("an action has the key that the user agreed to, and the same agreement always returns that action", async () => {
  const fixture = await openWorkerFixture();
  const one = await fixture.startWorker("one");
  const agreed = { proposedKey: "mic-agreed" };
  expect(resultOf(await one.call(agreed)).idempotencyKey).toBe("mic-agreed");
  fixture.clock.nowMs += DEDUPLICATION_WINDOW_MS;
  expect(resultOf(await one.call(agreed))).toMatchObject({ idempotencyKey: "mic-agreed", replayed: true });
  expect(fixture.sent).toHaveLength(1);
  const next = resultOf(await one.call());
  expect(next.idempotencyKey).not.toBe("mic-agreed");
  expect(next).toMatchObject({ origin: "new", earlier: { ageMs: DEDUPLICATION_WINDOW_MS } });
});

test("a key that mic-mcp derived names a new action, although it has mic-mcp's own format", async () => {
  const fixture = await openWorkerFixture();
  const one = await fixture.startWorker("one");
  const key = `mic-${"0".repeat(32)}`;
  for (const mistyped of [key, key.toUpperCase()])
    expect(factsOf(await one.call({ key: mistyped }))).toMatchObject({ kind: "conflict", sideEffect: "none" });
  expect(fixture.sent).toEqual([]);
  expect(resultOf(await one.call({ key, isDerivedKey: true })).idempotencyKey).toBe(key);
});

const SECRETS = ["secret-of-the-process", "secret-of-the-team"] as const;
const redactSecret =
  (secret: string) =>
  (text: string): string =>
    text.replaceAll(secret, "[redacted]");

test.each([
  ["a success", { value: { note: SECRETS.join(" ") }, resourceId: "job-1" }],
  ["a rejection", { failure: createRefusal("rejected", { message: SECRETS.join(" ") }) }],
])("the journal keeps %s without the secrets of the process and of the team", async (_, found) => {
  const fixture = await openWorkerFixture();
  const worker = await fixture.startWorker("one");
  const rejectAsUnknown = () => Promise.reject(createRefusal("outcome_unknown", { sideEffect: "unknown" }));
  await worker.call({ key: "a-key-of-its-own", answer: rejectAsUnknown });
  const actions = createTestActions(fixture.journal, {
    monotonicMs: () => fixture.clock.nowMs,
    isOwnerDead: () => true,
    redact: redactSecret(SECRETS[0]),
  });
  const redact = redactSecret(SECRETS[1]);
  expect(await actions.recordOutcome("service", "a-key-of-its-own", found, { redact })).toBe(true);
  const { outcome } = (await fixture.find("a-key-of-its-own")) ?? {};
  expect(outcome).toContain("[redacted] [redacted]");
  for (const secret of SECRETS) expect(outcome).not.toContain(secret);
});
