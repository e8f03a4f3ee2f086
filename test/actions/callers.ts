// Creates callers who share client credentials, each with their own actions. They have one journal, one action machine, and a
// stub API that sees them as one client and executes a key once.
import { onTestFinished } from "vitest";
import type { ActionCall } from "../../src/actions/actions.ts";
import { openJournal } from "../../src/actions/journal.ts";
import { createServiceActions } from "../../src/actions/service-actions.ts";
import { openSqlite } from "../../src/actions/store/sqlite.ts";
import { Failure, type FailureFacts } from "../../src/core/failure.ts";
import { createUpstreamKeyMapper } from "../../src/teams/tenancy/hooks.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { createSubmission, createTestActions } from "./samples.ts";

export const SECRET = new Uint8Array(32).fill(7);
const NOW = 1_800_000_000_000;
const SERVICE = JSON.stringify(["https://service.example", "client-1"]);

type CallOutcome = { readonly id: unknown; readonly key: string; readonly replayed: boolean } | FailureFacts;

/** Opens the fixture for the running test only. */
export async function openCallerFixture() {
  const database = await openSqlite(await folderForTest());
  onTestFinished(() => database.close());
  const journal = await openJournal(database, { owner: "one", now: () => NOW });
  const actions = createTestActions(journal, {
    timing: { now: () => NOW, random: () => 0.5, sleep: async () => undefined },
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
        message: `The key ${key} was used with another body.`,
        next: `Use another key than ${key}.`,
        fieldErrors: [{ pointer: "/", code: "KEY", message: `not ${key}` }],
      });
    const execution = former ?? { body, id: `job-${executed.size + 1}` };
    executed.set(key, execution);
    if (!isLosing) return { value: { data: { id: execution.id } }, drift: [], replayed: former !== undefined };
    isLosing = false;
    const message = "The answer was lost.";
    throw new Failure({ kind: "outcome_unknown", message, retryable: true, sideEffect: "unknown" });
  };

  /** `serviceName`: the client that all callers share. */
  function createCaller(name: string, serviceName = async () => SERVICE) {
    const hooks = { caller: name, upstreamKey: createUpstreamKeyMapper(SECRET, name) };
    const own = createServiceActions({ actions, journal: async () => journal, serviceName, hooks });
    return {
      actions: own,
      async submit(recipeVersionId: string, explicitKey?: string): Promise<CallOutcome> {
        const resourceId = (answer: unknown) => String(Object(answer).data.id);
        try {
          const call = { ...createSubmission({ recipeVersionId }, NOW), explicitKey, send, resourceId };
          const { value, idempotencyKey, replayed } = await own.perform(call);
          return { id: Object(value).data.id, key: idempotencyKey, replayed };
        } catch (error) {
          if (error instanceof Failure) return error.facts;
          throw error;
        }
      },
    };
  }

  return {
    executed,
    /** Loses the answer to the next request. */
    loseAnswer() {
      isLosing = true;
    },
    createCaller,
  };
}
