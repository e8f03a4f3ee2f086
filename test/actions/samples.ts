// Sample actions for a journal, and its location.

import {
  type ActionCallerOptions,
  type ActionContextOptions,
  createActionContext,
  createActions,
} from "../../src/actions/actions.ts";
import { identifies } from "../../src/actions/fingerprint.ts";
import type { Journal, NewAction, Resolution, StoredAction } from "../../src/actions/journal.ts";
import { systemTiming } from "../../src/api-client/attempts.ts";
import { say } from "../../src/core/text.ts";
import type { Database } from "../../src/store/database.ts";
import { openPostgres } from "../../src/store/postgres.ts";
import { openSqlite } from "../../src/store/sqlite.ts";

/** A folder for SQLite, or a PostgreSQL URL. */
export interface JournalLocation {
  readonly stateDir: string;
  readonly url?: string;
}

export const openDatabaseAt = ({ stateDir, url }: JournalLocation) =>
  url === undefined ? openSqlite(stateDir) : openPostgres(url);

export const newAction = (facts: Partial<NewAction> = {}): NewAction => ({
  service: "service",
  key: "key-0000",
  tool: "submit_job",
  arguments: "{}",
  fingerprint: "hash",
  boundFingerprint: null,
  targetId: "recipe-1",
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

/** Copies the action of this key, which a journal wrote. `changes`: SQL of columns, in which `n.i` counts the copies from 1. */
export async function copyAction(
  database: Database,
  key: string,
  count: number,
  changes: Readonly<Record<string, string>> = {},
): Promise<void> {
  const [row = {}] = await database.query("SELECT * FROM actions WHERE key = $1", [key]);
  const own: typeof changes = { key: "key || n.i", fingerprint: "fingerprint || n.i", ...changes };
  const columns = Object.keys(row);
  await database.query(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
     INSERT INTO actions (${columns}) SELECT ${columns.map((name) => own[name] ?? name)} FROM actions, n WHERE key = $1`,
    [key],
  );
}

/** Creates what the actions on this journal share. No owner is dead, and no text is redacted. */
export const createTestContext = (journal: Journal | Promise<Journal>, options: Partial<ActionContextOptions> = {}) =>
  createActionContext({
    journal: async () => journal,
    timing: systemTiming,
    monotonicMs: () => 0,
    isOwnerDead: () => false,
    redact: (text) => text,
    onJournalError: () => undefined,
    ...options,
  });

export const createTestActions = (
  journal: Journal,
  service = "service",
  options: Partial<ActionContextOptions> = {},
  caller: Partial<ActionCallerOptions> = {},
) => createActions(createTestContext(journal, options), { serviceName: async () => service, ...caller });

export const createSubmission = (args: Readonly<Record<string, unknown>>, nowMs: number) => ({
  tool: "submit_job",
  arguments: args,
  traits: { targetArgument: "recipeVersionId", arguments: { recipeVersionId: identifies() } },
  prepare: async () => ({ path: "/jobs", ifMatch: "", body: JSON.stringify(args) }),
  verificationAdvice: say`Look.`,
  apiClock: { now: () => undefined, read: async () => undefined },
  outageLeftMs: () => 0,
  context: { signal: new AbortController().signal, deadlineAt: nowMs + 45_000 },
});

export const DEAD_OWNER = "a process that has gone";

export const SUCCEEDED: Resolution = {
  state: "succeeded",
  attempts: 1,
  outcome: '{"value":1,"drift":[]}',
  createdId: "job-1",
};
export const UNKNOWN: Resolution = {
  state: "unknown",
  attempts: 2,
  outcome: '{"failure":{"kind":"outcome_unknown","message":"Lost.","retryable":true,"sideEffect":"unknown"}}',
  createdId: undefined,
};
export const REJECTED: Resolution = { ...UNKNOWN, state: "rejected" };

const { isExplicit: _, boundFingerprint: __, ifMatch, targetId, ...columns } = newAction();
export const storedAction = (facts: Partial<StoredAction> = {}): StoredAction => ({
  ...columns,
  bound_fingerprint: null,
  upstream_key: "",
  about: targetId,
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
  first_sent_api_at: null,
  updated_at: 0,
  resolved_at: null,
  read_at: 0,
  ...facts,
});
