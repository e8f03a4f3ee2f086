// A value that completion offers for a variable of a URI or an argument of a prompt.
export type CandidateKind = "jobId" | "versionId" | "code" | "workspaceId" | "inputId" | "operationId" | "requestId";

export interface Candidate {
  readonly value: string;
  /** What a person may type instead. */
  readonly name?: string;
}
