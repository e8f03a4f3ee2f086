// Tests that an outcome found by reading is stored like one that the request returned: without secrets.
import { expect, test } from "vitest";
import { createActions } from "../../src/actions/actions.ts";
import { systemTiming } from "../../src/api-client/attempts.ts";
import { createRefusal, openWorkerFixture } from "./workers.ts";

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
  const actions = createActions({
    journal: async () => fixture.journal,
    timing: systemTiming,
    monotonicMs: () => fixture.clock.nowMs,
    isOwnerDead: () => true,
    redact: redactSecret(SECRETS[0]),
    onJournalError: () => undefined,
  });
  const redact = redactSecret(SECRETS[1]);
  expect(await actions.recordOutcome("service", "a-key-of-its-own", found, { redact })).toBe(true);
  const { outcome } = (await fixture.find("a-key-of-its-own")) ?? {};
  expect(outcome).toContain("[redacted] [redacted]");
  for (const secret of SECRETS) expect(outcome).not.toContain(secret);
});
