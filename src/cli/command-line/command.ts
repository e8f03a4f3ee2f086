// What is said of a command: help, completion, parsing and docs/commands.md are made from it.

export interface Flag {
  readonly type: "string" | "boolean";
  /** What stands behind it; absent of one that stands alone. */
  readonly value?: string;
  /** It may be given more than once. */
  readonly multiple?: true;
  /** The values that it takes, where they are few. */
  readonly oneOf?: readonly string[];
  readonly about: string;
}

export interface Example {
  /** What is typed, "mic-mcp" included. */
  readonly line: string;
  readonly does: string;
}

export interface Command {
  readonly name: string;
  /** What stands behind the name, flags aside. */
  readonly takes?: string;
  /** One line. */
  readonly does: string;
  /** Sentences below it in its own help. */
  readonly notes?: readonly string[];
  readonly flags: Readonly<Record<string, Flag>>;
  readonly examples: readonly Example[];
}
