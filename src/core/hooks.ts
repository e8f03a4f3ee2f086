// Hooks are the additions of a deployment (src/teams/) to the work for one caller. A server for one user has no hooks.

/** One caller of a team, through one OAuth client, as named in audit rows. */
export interface Auditor {
  /** The SHA-256 of issuer and subject. */
  readonly caller: string;
  /** Empty for a caller without a team. */
  readonly team: string;
  readonly client: string;
  /** Returns the trace id of the current call. */
  readonly traceId?: () => string | undefined;
}

/** A call that its caller may not make: the token lacks a scope, or the call needs another team or workspace. */
export interface Refusal {
  /** The tool, or the method if the message names no tool. Absent if no message was read. */
  readonly tool?: string;
  readonly reason: "insufficient_scope" | "forbidden";
}

/** A cooldown that several processes with the same credentials share. Its methods never reject. */
export interface Cooldown {
  /** Returns the milliseconds until a request may be sent; 0 or less means now. A promise only if the value must be read again. */
  leftMs(): number | Promise<number>;
  /** Records a pause, in milliseconds, that the API asked for. Resolves when the other processes can read it. */
  record(ms: number): Promise<void>;
}

export interface Hooks {
  /** The caller, if several share the client's credentials. Callers do not share actions. */
  readonly caller?: string;
  /** The end of each action is recorded in the audit for this caller. */
  readonly auditor?: Auditor;
  /** Maps a key that this caller names to the Idempotency-Key that the API receives. */
  upstreamKey?(key: string): string;
  /** Checks each request before it is sent. `path` includes the query. Throws Failure. */
  checkRequest?(request: { readonly path: string; readonly body: string }): void;
  readonly cooldown?: Cooldown;
  /** Returns a sentence for results about actions while the journal lacks actions after a restore, or will be deleted. */
  journalNotice?(): string | undefined;
  /** Called when the limit of the team refused a new job. */
  onJobRefused?(reason: string): void;
  /** Called when the caller makes a call that they may not make. */
  onRefusal?(refusal: Refusal): void;
}
