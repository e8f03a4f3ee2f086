// Several action machines in one process, as a deployment for teams has them: they share a journal, and with it one owner.
import { expect, onTestFinished, test, vi } from "vitest";
import type { Journal } from "../../src/actions/journal.ts";
import { gate } from "../support/gate.ts";
import { openOffice, type Told } from "./workers.ts";

const LEASE_MS = 30_000;

async function twoMachines() {
  const office = await openOffice();
  let shared: Journal | undefined;
  const first = await office.worker("first", (journal) => {
    shared = journal;
    return journal;
  });
  const second = await office.worker("second", (journal) => shared ?? journal);
  return { office, first, second };
}

const keyOf = (told: Told): string => ("result" in told ? told.result.idempotencyKey : JSON.stringify(told.facts));

test("an action that one of them works on is not taken up by another, and one heartbeat keeps all", async () => {
  const { office, first, second } = await twoMachines();
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const { opened, open } = gate();
  const answer = () => opened.then(() => "made");
  const one = first.call({ answer });
  const other = second.call({ arguments: { recipeVersionId: "recipe-2" }, key: "another-action", answer });
  await expect.poll(() => office.sent.length).toBe(2);
  const same = second.call({ answer });
  await Promise.race([office.waits(3), same]);
  expect(vi.getTimerCount(), "one heartbeat").toBe(1);
  vi.advanceTimersByTime(10_000);
  await expect
    .poll(async () => (await office.find("another-action"))?.lease_until)
    .toBeGreaterThan(1_800_000_000_000 + LEASE_MS);
  open();
  expect(keyOf(await same)).toBe(keyOf(await one));
  await other;
  expect(office.sent).toHaveLength(2);
  vi.advanceTimersByTime(20_000);
  expect(vi.getTimerCount()).toBe(0);
});
