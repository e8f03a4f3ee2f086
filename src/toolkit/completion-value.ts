// A value that completion offers for a variable of a URI or an argument of a prompt.
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
  /** What a person may type instead: completion shows values alone. */
  readonly name?: string;
  /** Something is still to come of it: offered first. */
  readonly isUnresolved?: boolean;
}
