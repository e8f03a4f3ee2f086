// Who is measured: an agent that is given a request and a desk, and knows nothing else. Put a model in its place here.

export type ToolArguments = Readonly<Record<string, unknown>>;

/** A result as Claude Code shows it to its model: structuredContent alone where the call succeeded, the text alone where it failed. */
export type VisibleResult =
  | { readonly isError: false; readonly data: ToolArguments }
  | { readonly isError: true; readonly text: string };

export interface ListedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: ToolArguments;
}

/** What stands before the agent: the server's words, and what its client lets it and its person do. */
export interface AgentClient {
  readonly instructions: string;
  readonly tools: readonly ListedTool[];
  /** Never rejects: what a client cannot do, it says in a text. A server that died is started again for the next call. */
  call(tool: string, args?: ToolArguments): Promise<VisibleResult>;
  /** What the person may pick from, for an argument of a prompt. */
  complete(prompt: string, argument: string, value: string): Promise<readonly string[]>;
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
  work(assignment: Assignment, client: AgentClient): Promise<string>;
}
