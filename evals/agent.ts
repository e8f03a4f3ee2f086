// Defines the measured agent: it gets a request and an MCP client, and has no other information. To measure a model, implement
// Agent with it.

export type ToolArguments = Readonly<Record<string, unknown>>;

/** A result as Claude Code shows it to its model: only structuredContent if the call succeeded, only the text if it failed. */
export type VisibleResult =
  | { readonly isError: false; readonly data: ToolArguments }
  | { readonly isError: true; readonly text: string };

export interface ListedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: ToolArguments;
}

/**
 * The MCP client of an agent: the server's instructions and tools, and the actions that the client offers to the agent and its
 * user.
 */
export interface AgentClient {
  readonly instructions: string;
  readonly tools: readonly ListedTool[];
  /** Never rejects: an error of the client is returned as a text. If the server has died, the next call starts it again. */
  call(tool: string, args?: ToolArguments): Promise<VisibleResult>;
  /** The values that the user may pick for an argument of a prompt. */
  complete(prompt: string, argument: string, value: string): Promise<readonly string[]>;
  /** The text of a prompt that the user picked. */
  prompt(name: string, args: Readonly<Record<string, string>>): Promise<string>;
  read(uri: string): Promise<string>;
}

export interface Assignment {
  /** The task's number in docs/contribute/evals.md. */
  readonly task: string;
  /** The user's request. */
  readonly request: string;
}

export interface Agent {
  readonly name: string;
  /** Does the work and returns the agent's answer to the user. */
  work(assignment: Assignment, client: AgentClient): Promise<string>;
}
