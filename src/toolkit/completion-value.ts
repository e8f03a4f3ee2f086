// This module defines the values that completion offers for a variable of a URI or an argument of a prompt.
export type CompletionKind =
  | "jobId"
  | "versionId"
  | "code"
  | "workspaceId"
  | "referenceId"
  | "inputId"
  | "operationId"
  | "requestId";

export interface CompletionValue {
  readonly value: string;
  /** Text that the user may type instead. Completion shows only the values. */
  readonly name?: string;
  /** True if the resource has not ended, or an action on it is unresolved. Such values are offered first. */
  readonly isUnresolved?: boolean;
}
