// An outcome that is found by reading is kept like one that was returned to the request: without secrets.
import { expect, test } from "vitest";
import { createActions } from "../../src/actions/actions.ts";
import { systemTiming } from "../../src/api-client/attempts.ts";
import { openOffice, refused } from "./workers.ts";

const SECRETS = ["secret-of-the-process", "secret-of-the-team"] as const;
const without =
  (secret: string) =>
  (text: string): string =>
    text.replaceAll(secret, "[redacted]");

test.each([
  ["a success", { value: { note: SECRETS.join(" ") }, resourceId: "job-1" }],
  ["a rejection", { failure: refused("rejected", { message: SECRETS.join(" ") }) }],
])("the journal keeps %s without the secrets of the process and of the team", async (_, found) => {
  const office = await openOffice();
  const worker = await office.worker("one");
  const lost = () => Promise.reject(refused("outcome_unknown", { sideEffect: "unknown" }));
  await worker.call({ key: "a-key-of-its-own", answer: lost });
  const actions = createActions({
    journal: async () => office.journal,
    timing: systemTiming,
    monotonicMs: () => office.clock.nowMs,
    isOwnerDead: () => true,
    redact: without(SECRETS[0]),
    onJournalError: () => undefined,
  });
  const redact = without(SECRETS[1]);
  expect(await actions.recordOutcome("service", "a-key-of-its-own", found, { redact })).toBe(true);
  const { outcome } = (await office.find("a-key-of-its-own")) ?? {};
  expect(outcome).toContain("[redacted] [redacted]");
  for (const secret of SECRETS) expect(outcome).not.toContain(secret);
});
