// What belongs to one call of a tool, and how it reports on its way.
import type { CallContext } from "../api-client/attempts.ts";
import type { ToolName } from "./tool-names.ts";

export interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message: string;
}

/** What the call of an action tool made. */
export interface ActionMade {
  readonly data: { readonly id: string };
  /** Why this is not simply the answer of a new action. */
  readonly notice?: string;
  /** Present if nothing was sent. */
  readonly replay?: object;
}

export interface ToolCall {
  /** The tool's own name. */
  readonly tool: ToolName;
  readonly context: CallContext;
  /** The Idempotency-Key that a new action of this call takes, where the agent names none. */
  readonly proposedKey?: string | undefined;
  /** The version of the job that the person was asked about. */
  readonly shownVersion?: number | undefined;
  /** A job that it starts is a task for its client: nobody need wait for it here. */
  readonly followsTasks?: boolean;
  /** Whether an agent can call this tool here. */
  isOffered(tool: ToolName): boolean;
  /** Calls an action tool by its name; undefined if there is no such tool. Throws Failure. */
  act(tool: string, args: Readonly<Record<string, unknown>>, context: CallContext): Promise<ActionMade | undefined>;
  /** Tells the client how far the work is; does nothing when it did not ask. */
  report(progress: Progress): void;
}
