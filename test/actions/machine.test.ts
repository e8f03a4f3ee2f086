// Tests the action machine with several processes on one journal, and simulated time, process deaths and journal errors.

import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { DEDUPLICATION_WINDOW_MS } from "../../src/actions/deduplication-window.ts";
import { raw, say } from "../../src/core/text.ts";
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
const rejectWith =
  (...refusal: Parameters<typeof createRefusal>) =>
  () =>
    Promise.reject(createRefusal(...refusal));
const failAsFull = async () => {
  throw new Error("database or disk is full");
};

let fixture: Awaited<ReturnType<typeof openWorkerFixture>>;
let one: Awaited<ReturnType<typeof fixture.startWorker>>;
beforeEach(async () => {
  fixture = await openWorkerFixture();
  one = await fixture.startWorker("one");
});

test.each([
  ["returns the same outcome", async () => "made", undefined],
  ["returns the same rejection, and a later call runs", rejectWith("rejected", { status: 422 }), "rejected"],
])("another process waits while the owner of an action is alive, then %s", async (_what, end, kind) => {
  const two = await fixture.startWorker("two");
  const { released, release } = createLatch();
  const first = one.call({ answer: () => released.then(end) });
  await expect.poll(() => fixture.sent.length).toBe(1);
  const second = two.call();
  await Promise.race([fixture.waitForSleeps(5), second]);
  release();
  if (kind === undefined) {
    expect(resultOf(await second)).toMatchObject({ ...resultOf(await first), replayed: true, origin: "replayed" });
    expect(fixture.sent).toHaveLength(1);
    return;
  }
  expect(factsOf(await second)).toEqual(factsOf(await first));
  expect(fixture.sent).toHaveLength(1);
  expect(resultOf(await two.call())).toMatchObject({ origin: "new", replayed: false });
  expect(fixture.sent).toHaveLength(2);
});

test("a call that waited for a canceled call sends the request itself, under the same key", async () => {
  const two = await fixture.startWorker("two");
  const { released, release } = createLatch();
  const first = one.call({ answer: () => released.then(rejectWith("cancelled")) });
  await expect.poll(() => fixture.sent.length).toBe(1);
  const [second, third] = [two.call(), one.call()];
  await Promise.race([fixture.waitForSleeps(5), second]);
  release();
  expect(factsOf(await first)).toMatchObject({ kind: "cancelled", sideEffect: "none" });
  const results = [resultOf(await second), resultOf(await third)];
  expect(results.map(({ origin }) => origin).sort()).toEqual(["new", "replayed"]);
  expect(new Set(results.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
  expect(fixture.sent).toHaveLength(2);
});

test.each([
  ["at once from an owner that is dead", true],
  ["from a silent owner when its lease has expired, not before", false],
])("an action is taken over %s, and its outcome is indeterminate", async (_when, isDead) => {
  const two = await fixture.startWorker("two");
  one.call({ answer: never });
  await expect.poll(() => fixture.sent.length).toBe(1);
  if (isDead) fixture.deadOwners.add("one");
  const startedAt = fixture.clock.nowMs;
  const { attempts, idempotencyKey: key } = resultOf(await two.call());
  if (isDead) expect(fixture.clock.nowMs).toBe(startedAt);
  else expect(fixture.clock.nowMs - startedAt).toBeGreaterThanOrEqual(LEASE_MS);
  expect(attempts).toBe(2);
  expect(fixture.sent).toMatchObject([
    { by: "one", key, lost: false },
    { by: "two", key, lost: true },
  ]);
});

test("the lease of an action is renewed while the action is in flight, and not longer", async () => {
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
  let isFull = true;
  const full = await fixture.startWorker("full", (journal) => ({
    ...journal,
    resolve: (...resolved) => (isFull ? failAsFull() : journal.resolve(...resolved)),
  }));
  expect(resultOf(await full.call({ key: KEY })).value).toBe("made");
  expect(await fixture.find(KEY)).toMatchObject({ state: "in_progress" });
  isFull = false;
  const startedAt = fixture.clock.nowMs;
  expect(resultOf(await full.call({ key: KEY })).attempts).toBe(2);
  expect(fixture.clock.nowMs).toBe(startedAt);
  expect(fixture.sent.map(({ lost }) => lost)).toEqual([false, true]);
});

test("an outcome that is written late does not replace the outcome of a new attempt", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  let isFull = true;
  const full = await fixture.startWorker("full", (journal) => ({
    ...journal,
    resolve: (...resolved) => (isFull ? failAsFull() : journal.resolve(...resolved)),
  }));
  await full.call({ key: KEY });
  isFull = false;
  // The write of the first outcome is repeated every 2 s.
  const answer = () => vi.advanceTimersByTimeAsync(2_000).then(() => "made again");
  expect(resultOf(await full.call({ key: KEY, answer })).value).toBe("made again");
  expect(resultOf(await full.call({ key: KEY }))).toMatchObject({ value: "made again", attempts: 2, replayed: true });
});

const loseAnswer = rejectWith("outcome_unknown", { sideEffect: "unknown", retryable: true });
const TOO_OLD = /more than 20 h ago/;

test("no outcome is recorded for an action while this process sends it", async () => {
  const { released, release } = createLatch();
  const call = one.call({ key: KEY, answer: () => released.then(() => "made") });
  await expect.poll(() => fixture.sent.length).toBe(1);
  expect(await one.actions.recordOutcome(KEY, { failure: createRefusal("conflict") })).toBe(false);
  release();
  expect(resultOf(await call).value).toBe("made");
  expect(await fixture.find(KEY)).toMatchObject({ state: "succeeded" });
});

test("an action is too old to be sent again by the monotonic clock of the process that sent it, whatever the journal's clock", async () => {
  await one.call({ key: KEY, answer: loseAnswer });
  fixture.clock.aheadMs = DEDUPLICATION_WINDOW_MS + 1;
  expect(factsOf(await one.call({ key: KEY })).message).toMatch(TOO_OLD);
  expect(fixture.sent).toHaveLength(1);
});

test("no further attempt starts after the window, which counts from the first attempt, not from the call", async () => {
  await one.call({ key: KEY, answer: loseAnswer });
  const two = await fixture.startWorker("two");
  fixture.clock.nowMs += DEDUPLICATION_WINDOW_MS - 10_000;
  const answer = async (assertMaySend: () => void) => {
    assertMaySend();
    fixture.clock.nowMs += 20_000;
    assertMaySend();
    throw new Error("the window is over");
  };
  expect(factsOf(await two.call({ key: KEY, answer })).message).toMatch(TOO_OLD);
});

test("of two calls that read the API's clock at the same time before they resume an action, one sends", async () => {
  const apiClock = { now: () => fixture.clock.nowMs, read: async () => undefined };
  await one.call({ key: KEY, answer: loseAnswer, apiClock });
  const [clocks, answers] = [createLatch(), createLatch()];
  let readCount = 0;
  const slowClock = {
    ...apiClock,
    read: async () => {
      readCount += 1;
      // The second read ends while the request of the first call is in flight.
      if (readCount === 2) await clocks.released;
    },
  };
  const answer = () => answers.released.then(() => "made");
  const calls = [
    one.call({ key: KEY, apiClock: slowClock, answer }),
    one.call({ key: KEY, apiClock: slowClock, answer }),
  ];
  await expect.poll(() => fixture.sent.length).toBe(2);
  expect(readCount).toBe(2);
  clocks.release();
  await fixture.waitForSleeps(3);
  expect(fixture.sent).toHaveLength(2);
  answers.release();
  for (const call of await Promise.all(calls)) expect(resultOf(call).value).toBe("made");
  expect(fixture.sent).toHaveLength(2);
});

test("simultaneous calls with the same explicit key send one request", async () => {
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
  let found: unknown;
  await one.call({ key: KEY, answer: async () => (found = await fixture.find(fixture.sent[0]?.key ?? "")) });
  expect(found).toMatchObject({ key: KEY, state: "in_progress", owner: "one", body: fixture.sent[0]?.body });
  const full = await fixture.startWorker("full", (journal) => ({ ...journal, insert: failAsFull }));
  expect(factsOf(await full.call({ key: `${KEY}-2` }))).toMatchObject({ kind: "unavailable", sideEffect: "none" });
  expect(fixture.sent).toHaveLength(1);
});

test("an action that may have been recorded is not reported as having no effect", async () => {
  const cut = await fixture.startWorker("cut", (journal) => ({
    ...journal,
    insert: (action) => journal.insert(action).then(failAsFull),
  }));
  expect(factsOf(await cut.call({ key: KEY }))).toMatchObject({ kind: "unavailable", sideEffect: "unknown" });
  expect(await fixture.find(KEY)).toMatchObject({ state: "in_progress" });
  expect(fixture.sent).toEqual([]);
});

test("an internal error while sending leaves the outcome unknown", async () => {
  const facts = factsOf(await one.call({ answer: () => Promise.reject(new TypeError("not a function")) }));
  expect(facts).toMatchObject({ kind: "outcome_unknown", sideEffect: "unknown", retryable: true });
  expect(await fixture.find(facts.idempotencyKey ?? "")).toMatchObject({ state: "unknown", attempts: 1 });
});

test("a call ends within its time limit if the journal rejects an insert as a duplicate but returns no such action", async () => {
  let insertAttempts = 0;
  const refused = await fixture.startWorker("refused", (journal) => ({
    ...journal,
    insert: async () => {
      insertAttempts += 1;
      if (insertAttempts > 1_000) throw new Error("asked for ever");
      return undefined;
    },
  }));
  const startedAt = fixture.clock.nowMs;
  const facts = factsOf(await refused.call());
  expect(facts).toMatchObject({ kind: "unavailable", sideEffect: "unknown" });
  expect(facts.message).toMatch(/returns none.*This call sent nothing/s);
  expect(insertAttempts, "with a pause in between").toBeLessThanOrEqual(1 + (fixture.clock.nowMs - startedAt) / 200);
  expect(fixture.sent).toHaveLength(0);
});

test("an insert that was refused because of another action is repeated once that action has ended", async () => {
  const insert = vi.fn().mockResolvedValueOnce(undefined);
  const refused = await fixture.startWorker("refused", (journal) => ({
    ...journal,
    insert: insert.mockImplementation(journal.insert),
  }));
  expect(resultOf(await refused.call())).toMatchObject({ replayed: false, attempts: 1 });
  expect(fixture.sent).toHaveLength(1);
});

test.each([
  ["a rejection", rejectWith("rejected", { status: 422 })],
  ["a rate limit", rejectWith("rate_limited", { retryable: true })],
])("the same bytes are sent again under the same key after %s, even a day later", async (_what, answer) => {
  expect(factsOf(await one.call({ key: KEY, answer }))).toMatchObject({ sideEffect: "none" });
  fixture.clock.nowMs += 86_400_001;
  expect(resultOf(await one.call({ key: KEY }))).toMatchObject({ replayed: false, attempts: 2, origin: "new" });
  const sent = { key: KEY, body: fixture.sent[0]?.body, lost: false };
  expect(fixture.sent).toMatchObject([sent, sent]);
});

test("an action that took effect with an unreadable answer does not run again", async () => {
  const facts = factsOf(await one.call({ answer: rejectWith("contract_violation", { sideEffect: "done" }) }));
  const again = factsOf(await one.call());
  expect(again).toEqual({ ...facts, message: `Not run again: an identical call ran 0 s ago. ${facts.message}` });
  expect(fixture.sent).toHaveLength(1);
});

test("a call without a key that was about to resume an unknown action returns the rejection that another call got for it", async () => {
  await one.call({ answer: rejectWith("outcome_unknown", { sideEffect: "unknown" }) });
  let isFirst = true;
  const two = await fixture.startWorker("two", (journal) => ({
    ...journal,
    async claim() {
      // The other call is faster: it resumes the action, and the API rejects it.
      if (isFirst) await one.call({ answer: rejectWith("rejected", { status: 422 }) });
      isFirst = false;
      return undefined;
    },
  }));
  const facts = factsOf(await two.call({ arguments: { recipeVersionId: "recipe-1", clientReference: "other" } }));
  expect(facts).toMatchObject({ kind: "rejected", status: 422 });
  expect(fixture.sent).toHaveLength(2);
});

test("a confirmed call has the key that the user confirmed, and confirming it again returns the same action", async () => {
  const agreed = { proposedKey: "mic-agreed" };
  expect(resultOf(await one.call(agreed)).idempotencyKey).toBe("mic-agreed");
  fixture.clock.nowMs += DEDUPLICATION_WINDOW_MS;
  expect(resultOf(await one.call(agreed))).toMatchObject({ idempotencyKey: "mic-agreed", replayed: true });
  expect(fixture.sent).toHaveLength(1);
  const next = resultOf(await one.call());
  expect(next.idempotencyKey).not.toBe("mic-agreed");
  expect(next).toMatchObject({ origin: "new", earlier: { ageMs: DEDUPLICATION_WINDOW_MS } });
});

test("a derived key starts a new action, even though it has the format of mic-mcp's own keys", async () => {
  const key = `mic-${"0".repeat(32)}`;
  expect(resultOf(await one.call({ key, isDerivedKey: true })).idempotencyKey).toBe(key);
});

const SECRETS = ["secret-of-the-process", "secret-of-the-team"] as const;
const redactSecret = (secret: string) => (text: string) => text.replaceAll(secret, "[redacted]");

test.each([
  ["a success", { value: { note: SECRETS.join(" ") }, createdId: "job-1" }],
  ["a rejection", { failure: createRefusal("rejected", { message: say`${raw(SECRETS.join(" "))}` }) }],
])("the journal keeps %s without the secrets of the process and of the team", async (_, found) => {
  await one.call({ key: KEY, answer: rejectWith("outcome_unknown", { sideEffect: "unknown" }) });
  const [ofProcess, ofTeam] = SECRETS.map(redactSecret);
  const context = { isOwnerDead: () => true, redact: ofProcess };
  const actions = createTestActions(fixture.journal, "service", context, { redact: ofTeam });
  expect(await actions.recordOutcome(KEY, found)).toBe(true);
  const { outcome } = (await fixture.find(KEY)) ?? {};
  expect(outcome).toContain("[redacted] [redacted]");
  for (const secret of SECRETS) expect(outcome).not.toContain(secret);
});
