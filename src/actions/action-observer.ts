// Defines the observer of one caller's actions. It takes part in the statements that write them, so its rows are written with theirs or not at all.
import { Failure } from "../core/failure.ts";
import type { SqlValue } from "../store/database.ts";

export interface Statement {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/** The observer refuses a new action. Nothing was sent, and no action was recorded. */
export class ActionRefused extends Failure {}

export interface ActionObserver {
  /**
   * Completes the statement that inserts a new action of a tool, or claims a rejected one again. `sqlWith` returns the statement with a
   * further condition. The result returns the same row. Its parameters begin with `values`.
   */
  begin(tool: string, sqlWith: (condition: string) => string, values: readonly SqlValue[]): Statement;
  /** Throws ActionRefused if the observer's condition is the reason why such a statement wrote nothing. */
  assertMayBegin(tool: string): Promise<void>;
  /** Called when an action ends. The returned function completes the statement that records the end, which may run after the call. */
  end(): (resolve: Statement) => Statement;
}

export const NO_OBSERVER: ActionObserver = {
  begin: (_tool, sqlWith, values) => ({ sql: sqlWith("TRUE"), values }),
  assertMayBegin: async () => undefined,
  end: () => (resolve) => resolve,
};
