// Creates callers who share client credentials, each with their own actions. They have one journal, one action machine, and a
// stub API that sees them as one client and executes a key once.
import { onTestFinished } from "vitest";
import { type ActionCall, createActions } from "../../src/actions/actions.ts";
import { type Journal, openJournal } from "../../src/actions/journal.ts";
import { createServiceActions, type ServiceActions } from "../../src/actions/service-actions.ts";
import { openSqlite } from "../../src/actions/store/sqlite.ts";
import { Failure, type FailureFacts } from "../../src/core/failure.ts";
import { createUpstreamKeyMapper } from "../../src/teams/tenancy/hooks.ts";
import { folderForTest } from "../support/temporary-folder.ts";

export const SECRET = new Uint8Array(32).fill(7);
const NOW = 1_800_000_000_000;

export interface Execution {
  readonly body: string;
  readonly id: string;
}

export type CallOutcome = { readonly id: unknown; readonly key: string; readonly replayed: boolean } | FailureFacts;

export interface TestCaller {
  readonly actions: ServiceActions;
  submit(recipe: string, key?: string): Promise<CallOutcome>;
}

export interface CallerFixture {
  readonly journal: Journal;
  /** By upstream idempotency key. */
  readonly executed: ReadonlyMap<string, Execution>;
  /** Loses the answer to the next request. */
  loseAnswer(): void;
  /** Records an execution as if another client had requested it before. */
  execute(upstreamKey: string, execution: Execution): void;
  /** `name` undefined: a single user. `service`: the client that all callers share. */
  createCaller(name: string | undefined, service?: () => Promise<string>): TestCaller;
}

/** Opens the fixture for the running test only. */
export async function openCallerFixture(): Promise<CallerFixture> {
  const database = await openSqlite(await folderForTest());
  onTestFinished(() => database.close());
  const options = { owner: "one", now: () => NOW };
  const journal = await openJournal(database, options);
  const timing = { now: () => NOW, random: () => 0.5, sleep: async () => undefined };
  const actions = createActions({
    journal: async () => journal,
    timing,
    monotonicMs: () => NOW,
    isOwnerDead: () => false,
    redact: (text) => text,
    onJournalError: (reason) => {
      throw new Error(reason);
    },
  });
  const executed = new Map<string, Execution>();
  let isLosing = false;

  const send: ActionCall["send"] = async ({ body }, key, { onAttempt }) => {
    onAttempt?.();
    const former = executed.get(key);
    if (former && former.body !== body)
      throw new Failure({
        kind: "conflict",
        message: `The key ${key} was used with another body.`,
        retryable: false,
        sideEffect: "none",
        next: `Use another key than ${key}.`,
        fieldErrors: [{ pointer: "/", code: "KEY", message: `not ${key}` }],
      });
    const execution = former ?? { body, id: `job-${executed.size + 1}` };
    executed.set(key, execution);
    if (!isLosing) return { value: { data: { id: execution.id } }, drift: [], replayed: former !== undefined };
    isLosing = false;
    throw new Failure({
      kind: "outcome_unknown",
      message: "The answer was lost.",
      retryable: true,
      sideEffect: "unknown",
    });
  };

  return {
    journal,
    executed,
    loseAnswer() {
      isLosing = true;
    },
    execute: (upstreamKey, execution) => void executed.set(upstreamKey, execution),
    createCaller(name, serviceName = async () => JSON.stringify(["https://service.example", "client-1"])) {
      const own = createServiceActions({
        actions,
        journal: async () => journal,
        serviceName,
        ...(name !== undefined && { hooks: { caller: name, upstreamKey: createUpstreamKeyMapper(SECRET, name) } }),
      });
      return {
        actions: own,
        async submit(recipeVersionId, explicitKey) {
          const args = { recipeVersionId };
          try {
            const { value, idempotencyKey, replayed } = await own.perform({
              tool: "submit_job",
              arguments: args,
              traits: { aboutArgument: "recipeVersionId", identifyingArguments: ["recipeVersionId"] },
              explicitKey,
              prepare: async () => ({ path: "/jobs", ifMatch: "", body: JSON.stringify(args) }),
              send,
              resourceId: (answer) => String(Object(answer).data.id),
              verificationAdvice: "Look.",
              context: { signal: new AbortController().signal, deadlineAt: NOW + 45_000 },
            });
            return { id: Object(value).data.id, key: idempotencyKey, replayed };
          } catch (error) {
            if (error instanceof Failure) return error.facts;
            throw error;
          }
        },
      };
    },
  };
}
