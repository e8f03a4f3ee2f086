// Defines the observer of one caller's actions. It may refuse a new action, and takes part in the statement that records an end, so its rows
// are written with it or not at all.
import type { SqlValue } from "../store/database.ts";
import type { NewAction } from "./action-row.ts";

export interface Statement {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

export interface ActionObserver {
  /** Called before a new action is recorded. Throws Failure to refuse it. */
  begin(action: NewAction): Promise<void>;
  /** Called when an action ends. The returned function completes the statement that records the end, which may run after the call. */
  end(): (resolve: Statement) => Statement;
}

export const NO_OBSERVER: ActionObserver = { begin: async () => undefined, end: () => (resolve) => resolve };
