// Sample actions for a journal, and its location.
import { createActions } from "../../src/actions/actions.ts";
import type { Journal, NewAction, Resolution, StoredAction } from "../../src/actions/journal.ts";
import { createServiceActions } from "../../src/actions/service-actions.ts";
import { openPostgres } from "../../src/actions/store/postgres.ts";
import { openSqlite } from "../../src/actions/store/sqlite.ts";
import { systemTiming } from "../../src/api-client/attempts.ts";

/** A folder for SQLite, or a PostgreSQL URL. */
export interface JournalLocation {
  readonly stateDir: string;
  readonly url?: string | undefined;
}

export const openDatabaseAt = ({ stateDir, url }: JournalLocation) =>
  url === undefined ? openSqlite(stateDir) : openPostgres(url);

export const newAction = (facts: Partial<NewAction> = {}): NewAction => ({
  service: "service",
  key: "key-0000",
  tool: "submit_job",
  arguments: "{}",
  fingerprint: "hash",
  about: "recipe-1",
  isExplicit: false,
  path: "/sandbox/v1/mic/jobs",
  ifMatch: "",
  body: "{}",
  ...facts,
});

export async function insertAction(journal: Journal, facts: Partial<NewAction> = {}): Promise<StoredAction> {
  const action = newAction(facts);
  const written = await journal.insert(action);
  if (!written) throw new Error(`${action.key} was not inserted`);
  return written;
}

/** Creates an action machine on this journal. No owner is dead, and no text is redacted. */
export const createTestActions = (journal: Journal, options: Partial<Parameters<typeof createActions>[0]> = {}) =>
  createActions({
    journal: async () => journal,
    timing: systemTiming,
    monotonicMs: () => 0,
    isOwnerDead: () => false,
    redact: (text) => text,
    onJournalError: () => undefined,
    ...options,
  });

export const createServiceActionsFor = (journal: Journal, service = "service") =>
  createServiceActions({
    actions: createTestActions(journal),
    journal: async () => journal,
    serviceName: async () => service,
  });

export const createSubmission = (args: Readonly<Record<string, unknown>>, nowMs: number) => ({
  tool: "submit_job",
  arguments: args,
  traits: { aboutArgument: "recipeVersionId", identifyingArguments: ["recipeVersionId"] },
  prepare: async () => ({ path: "/jobs", ifMatch: "", body: JSON.stringify(args) }),
  verificationAdvice: "Look.",
  context: { signal: new AbortController().signal, deadlineAt: nowMs + 45_000 },
});

export const DEAD_OWNER = "a process that has gone";

export const SUCCEEDED: Resolution = {
  state: "succeeded",
  attempts: 1,
  outcome: '{"value":1,"drift":[]}',
  resourceId: "job-1",
};
export const UNKNOWN: Resolution = {
  state: "unknown",
  attempts: 2,
  outcome: '{"failure":{"kind":"outcome_unknown","message":"Lost.","retryable":true,"sideEffect":"unknown"}}',
  resourceId: undefined,
};
export const REJECTED: Resolution = { ...UNKNOWN, state: "rejected" };

const { isExplicit: _, ifMatch, ...columns } = newAction();
export const storedAction = (facts: Partial<StoredAction> = {}): StoredAction => ({
  ...columns,
  upstream_key: "",
  if_match: ifMatch,
  state: "in_progress",
  indeterminate: 0,
  attempts: 0,
  owner: "one",
  lease_until: 0,
  outcome: null,
  resource_id: null,
  created_at: 0,
  first_sent_at: 0,
  updated_at: 0,
  resolved_at: null,
  read_at: 0,
  ...facts,
});
