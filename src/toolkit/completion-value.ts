// This module defines the values that completion offers for a variable of a URI or an argument of a prompt.

/** The names of the variables and arguments that have completions. */
export const COMPLETION_KINDS = [
  "jobId",
  "versionId",
  "code",
  "workspaceId",
  "referenceId",
  "inputId",
  "operationId",
  "requestId",
] as const;

export type CompletionKind = (typeof COMPLETION_KINDS)[number];

export interface CompletionValue {
  readonly value: string;
  /** Text that the user may type instead. Completion shows only the values. */
  readonly name?: string;
  /** True if the resource has not ended, or an action on it is unresolved. Such values are offered first. */
  readonly isUnresolved?: boolean;
}
