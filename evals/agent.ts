// Who is measured: an agent that is given a request and a desk, and knows nothing else. Put a model in its place here.

export type Args = Readonly<Record<string, unknown>>;

/** A result as Claude Code shows it to its model: structuredContent alone where the call succeeded, the text alone where it failed. */
export type Shown =
  | { readonly isError: false; readonly data: Args }
  | { readonly isError: true; readonly text: string };

export interface OfferedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Args;
}

/** What stands before the agent: the server's words, and what its client lets it and its person do. */
export interface Desk {
  readonly instructions: string;
  readonly tools: readonly OfferedTool[];
  /** Never rejects: what a client cannot do, it says in a text. A server that died is started again for the next call. */
  call(tool: string, args?: Args): Promise<Shown>;
  /** What the person may pick from, for an argument of a prompt. */
  complete(prompt: string, argument: string, typed: string): Promise<readonly string[]>;
  /** The text of a prompt that the person picked. */
  prompt(name: string, args: Readonly<Record<string, string>>): Promise<string>;
  read(uri: string): Promise<string>;
}

export interface Assignment {
  /** Its number in docs/evals.md. */
  readonly task: string;
  /** The person's words. */
  readonly request: string;
}

export interface Agent {
  readonly name: string;
  /** Does what it is asked, and says what became of it. */
  work(assignment: Assignment, desk: Desk): Promise<string>;
}
