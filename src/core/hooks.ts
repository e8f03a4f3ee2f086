// What a deployment (src/teams/) adds to the work for one caller. A server for one user has no hooks.

/** One caller of a team, through one OAuth client, as rows of the audit name them. */
export interface Auditor {
  /** The SHA-256 of issuer and subject. */
  readonly caller: string;
  /** Empty for a caller in no team. */
  readonly team: string;
  readonly client: string;
  /** The trace of the current call. */
  readonly traceId?: () => string | undefined;
}

/** A call that its caller has no right to make: the token lacks a scope, or the call needs another team or workspace. */
export interface Refusal {
  /** The tool, or the method if the message names no tool. Absent if no message was read. */
  readonly tool?: string;
  readonly reason: "insufficient_scope" | "forbidden";
}

/** A cooldown that several processes with the same credentials share. Its methods never reject. */
export interface Cooldown {
  /** Milliseconds until a request may be sent; 0 or less: now. */
  leftMs(): Promise<number>;
  /** The API has asked for a pause. Resolves when the other processes can know. */
  record(ms: number): Promise<void>;
}

export interface Hooks {
  /** One of several callers who share the client's credentials: they share no action. */
  readonly caller?: string;
  /** The end of each action is recorded in the audit for this caller. */
  readonly auditor?: Auditor;
  /** Maps a key that this caller names to the Idempotency-Key that the API receives. */
  upstreamKey?(key: string): string;
  /** Checks each request before it is sent. Throws Failure. `path`: with its query. */
  checkRequest?(request: { readonly path: string; readonly body: string }): void;
  readonly cooldown?: Cooldown;
  /** A sentence for answers about actions, while the journal lacks actions after a restore. */
  restoreNotice?(): string | undefined;
  /** The caller asked for an action that they have no right to. */
  onRefusal?(refusal: Refusal): void;
}
