// The action machine's own rules, where time, death and a journal that fails have to be at hand: processes that share a journal.
import { expect, onTestFinished, test, vi } from "vitest";
import { gate } from "../support/gate.ts";
import { openOffice, refused, type Told } from "./workers.ts";

const LEASE_MS = 30_000;
const KEY = "a-key-of-its-own";

const resultOf = (told: Told) => {
  if ("result" in told) return told.result;
  throw new Error(`it failed: ${JSON.stringify(told.facts)}`);
};
const factsOf = (told: Told) => {
  if ("facts" in told) return told.facts;
  throw new Error(`it succeeded: ${JSON.stringify(told.result)}`);
};
const never = () => new Promise<never>(() => undefined);

test("while its owner lives, another process waits and hears the same", async () => {
  const office = await openOffice();
  const [one, two] = [await office.worker("one"), await office.worker("two")];
  const { opened, open } = gate();
  const first = one.call({ answer: () => opened.then(() => "made") });
  await expect.poll(() => office.sent.length).toBe(1);
  const second = two.call();
  await Promise.race([office.waits(5), second]);
  open();
  expect(resultOf(await second)).toEqual({ ...resultOf(await first), replayed: true, notice: expect.any(String) });
  expect(office.sent).toHaveLength(1);
});

test("what another process begins between two looks is the same action, not one worded otherwise", async () => {
  const office = await openOffice();
  const one = await office.worker("one");
  const { opened, open } = gate();
  let first: Promise<Told> | undefined;
  const two = await office.worker("two", (journal) => ({
    ...journal,
    async findReworded(...asked) {
      first ??= one.call({ answer: () => opened.then(() => "made") });
      await expect.poll(() => office.sent.length).toBe(1);
      return await journal.findReworded(...asked);
    },
  }));
  const second = two.call();
  await Promise.race([office.waits(2), second]);
  open();
  const { idempotencyKey } = resultOf(await second);
  expect(first && resultOf(await first)).toMatchObject({ idempotencyKey, replayed: false });
  expect(office.sent).toHaveLength(1);
});

test("an owner that is known to be dead is followed at once, with the doubt that it leaves", async () => {
  const office = await openOffice();
  const [one, two] = [await office.worker("one"), await office.worker("two")];
  one.call({ answer: never });
  await expect.poll(() => office.sent.length).toBe(1);
  office.gone.add("one");
  const startedAt = office.clock.nowMs;
  const { attempts, idempotencyKey } = resultOf(await two.call());
  expect(office.clock.nowMs).toBe(startedAt);
  expect(attempts).toBe(2);
  expect(office.sent.map(({ by, key, lost }) => ({ by, key, lost }))).toEqual([
    { by: "one", key: idempotencyKey, lost: false },
    { by: "two", key: idempotencyKey, lost: true },
  ]);
});

test("an owner that gives no sign of life is followed when its lease has stood still, not before", async () => {
  const office = await openOffice();
  const [one, two] = [await office.worker("one"), await office.worker("two")];
  one.call({ answer: never });
  await expect.poll(() => office.sent.length).toBe(1);
  const startedAt = office.clock.nowMs;
  expect(resultOf(await two.call()).attempts).toBe(2);
  expect(office.clock.nowMs - startedAt).toBeGreaterThanOrEqual(LEASE_MS);
  expect(office.sent.map(({ by }) => by)).toEqual(["one", "two"]);
});

test("while an action is under way its lease moves, and not for longer", async () => {
  const office = await openOffice();
  const one = await office.worker("one");
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const { opened, open } = gate();
  const call = one.call({ key: KEY, answer: () => opened });
  await expect.poll(() => office.sent.length).toBe(1);
  for (let beat = 0; beat < 4; beat++) {
    office.clock.nowMs += 10_000;
    vi.advanceTimersByTime(10_000);
    await expect.poll(async () => (await office.find(KEY))?.lease_until).toBe(office.clock.nowMs + LEASE_MS);
  }
  open();
  await call;
  vi.advanceTimersByTime(20_000);
  expect(await office.find(KEY)).toMatchObject({ state: "succeeded", lease_until: 0 });
  expect(vi.getTimerCount()).toBe(0);
});

test("an end that could not be written is told, and found out again at once by the process itself", async () => {
  const office = await openOffice();
  let isFull = true;
  const one = await office.worker("one", (journal) => ({
    ...journal,
    settle: async (...settled) => {
      if (isFull) throw new Error("database or disk is full");
      return await journal.settle(...settled);
    },
  }));
  expect(resultOf(await one.call({ key: KEY })).value).toBe("made");
  expect(await office.find(KEY)).toMatchObject({ state: "open" });
  isFull = false;
  const startedAt = office.clock.nowMs;
  expect(resultOf(await one.call({ key: KEY })).attempts).toBe(2);
  expect(office.clock.nowMs).toBe(startedAt);
  expect(office.sent.map(({ lost }) => lost)).toEqual([false, true]);
});

test("two calls at once under one key of their own send one request", async () => {
  const office = await openOffice();
  const one = await office.worker("one");
  const { opened, open } = gate();
  const calls = [1, 2, 3].map(() => one.call({ key: KEY, answer: () => opened.then(() => "made") }));
  // Two of them wait.
  await Promise.race([office.waits(6), ...calls]);
  open();
  const results = (await Promise.all(calls)).map(resultOf);
  expect(results.map(({ replayed }) => replayed).sort()).toEqual([false, true, true]);
  expect(office.sent).toHaveLength(1);
});

test("an action is in the journal when it is sent, and what is not there is not sent", async () => {
  const office = await openOffice();
  let found: unknown;
  const one = await office.worker("one");
  await one.call({ key: KEY, answer: async () => (found = await office.find(office.sent[0]?.key ?? "")) });
  expect(found).toMatchObject({ key: KEY, state: "open", owner: "one", body: office.sent[0]?.body });
  const two = await office.worker("two", (journal) => ({
    ...journal,
    insert: async () => {
      throw new Error("database or disk is full");
    },
  }));
  const facts = factsOf(await two.call({ key: `${KEY}-2` }));
  expect(facts).toMatchObject({ kind: "internal", sideEffect: "none" });
  expect(office.sent).toHaveLength(1);
});

test("what may have been written is not said to be nothing", async () => {
  const office = await openOffice();
  const one = await office.worker("one", (journal) => ({
    ...journal,
    async insert(action) {
      await journal.insert(action);
      throw new Error("the connection broke");
    },
  }));
  expect(factsOf(await one.call({ key: KEY }))).toMatchObject({ kind: "internal", sideEffect: "unknown" });
  expect(await office.find(KEY)).toMatchObject({ state: "open" });
  expect(office.sent).toEqual([]);
});

test("a fault of our own while sending leaves the outcome unknown", async () => {
  const office = await openOffice();
  const one = await office.worker("one");
  const fault = async () => {
    throw new TypeError("undefined is not a function");
  };
  const facts = factsOf(await one.call({ answer: fault }));
  expect(facts).toMatchObject({ kind: "outcome_unknown", sideEffect: "unknown", retryable: true });
  expect(await office.find(facts.idempotencyKey ?? "")).toMatchObject({ state: "unknown", attempts: 1 });
});

test("a journal that refuses a new action as one that it has, and shows none, is asked in vain no longer than the call lasts", async () => {
  const office = await openOffice();
  let asked = 0;
  const one = await office.worker("one", (journal) => ({
    ...journal,
    insert: async () => {
      asked += 1;
      if (asked > 1_000) throw new Error("asked for ever");
      return undefined;
    },
  }));
  const startedAt = office.clock.nowMs;
  const facts = factsOf(await one.call());
  expect(facts).toMatchObject({
    kind: "internal",
    sideEffect: "unknown",
    message: expect.stringMatching(/shows none/),
  });
  expect(facts.message).toMatch(/This call sent nothing/);
  expect(asked, "with a pause in between").toBeLessThanOrEqual(1 + (office.clock.nowMs - startedAt) / 200);
  expect(office.sent).toHaveLength(0);
});

test("one that was refused for the sake of another, which has ended since, is made a little later", async () => {
  const office = await openOffice();
  let isRefused = true;
  const one = await office.worker("one", (journal) => ({
    ...journal,
    insert: async (action) => {
      if (!isRefused) return await journal.insert(action);
      isRefused = false;
      return undefined;
    },
  }));
  expect(resultOf(await one.call())).toMatchObject({ replayed: false, attempts: 1 });
  expect(office.sent).toHaveLength(1);
});

test("a refusal that decided is told again; one that put it off is not the last word, a day later either", async () => {
  const office = await openOffice();
  const one = await office.worker("one");
  const decided = () => Promise.reject(refused("rejected", { status: 422 }));
  for (const answer of [decided, undefined])
    expect(factsOf(await one.call({ key: KEY, ...(answer && { answer }) }))).toMatchObject({ status: 422 });
  expect(office.sent).toHaveLength(1);
  const later = `${KEY}-later`;
  const putOff = () => Promise.reject(refused("rate_limited", { retryable: true }));
  expect(factsOf(await one.call({ key: later, answer: putOff }))).toMatchObject({ sideEffect: "none" });
  office.clock.nowMs += 86_400_001;
  expect(resultOf(await one.call({ key: later }))).toMatchObject({ replayed: false, attempts: 2 });
  expect(office.sent.at(-1), "nothing had happened").toMatchObject({ key: later, lost: false });
});

test("what took effect, with an answer that cannot be read, is not done again", async () => {
  const office = await openOffice();
  const one = await office.worker("one");
  const unreadable = () => Promise.reject(refused("contract_violation", { sideEffect: "done" }));
  const facts = factsOf(await one.call({ answer: unreadable }));
  await one.deliver();
  expect(factsOf(await one.call())).toEqual(facts);
  expect(office.sent).toHaveLength(1);
});

test("an action has the key that was agreed to, and the same agreement is about that action", async () => {
  const office = await openOffice();
  const one = await office.worker("one");
  const agreed = { proposedKey: "mic-agreed" };
  expect(resultOf(await one.call(agreed)).idempotencyKey).toBe("mic-agreed");
  await one.deliver();
  // Long told by now: without the agreement the same call would be a new one.
  office.clock.nowMs += 600_001;
  expect(resultOf(await one.call(agreed))).toMatchObject({ idempotencyKey: "mic-agreed", replayed: true });
  expect(office.sent).toHaveLength(1);
  expect(resultOf(await one.call()).idempotencyKey).not.toBe("mic-agreed");
});

test("an answer that leaves late tells nothing of what the action has come to since", async () => {
  const office = await openOffice();
  const [one, two] = [await office.worker("one"), await office.worker("two")];
  await one.call({ answer: () => Promise.reject(refused("rate_limited", { retryable: true })) });
  const { idempotencyKey } = resultOf(await two.call());
  await one.deliver();
  office.clock.nowMs += 600_001;
  expect(resultOf(await two.call())).toMatchObject({ idempotencyKey, replayed: true });
  await two.deliver();
  office.clock.nowMs += 600_001;
  expect(resultOf(await two.call()), "told by now").toMatchObject({ replayed: false });
});
