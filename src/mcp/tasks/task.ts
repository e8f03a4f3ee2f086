// What a task is on the wire, and what a backend of tasks must do: the Tasks extension, SEP-2663,
// https://modelcontextprotocol.io/seps/2663-tasks-extension.
import type { CallToolResult, InputRequests, ServerContext } from "@modelcontextprotocol/server";

interface TaskFacts {
  readonly taskId: string;
  readonly statusMessage?: string;
  /** RFC 3339. */
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  /** How long after its creation the task can be asked for; null: for ever. */
  readonly ttlMs: number | null;
  readonly pollIntervalMs?: number;
}

interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** "completed": the call has its result, even one that says isError; "failed": it ended in an error of the protocol. */
export type TaskState =
  | { readonly status: "working" }
  | { readonly status: "input_required"; readonly inputRequests: InputRequests }
  | { readonly status: "completed"; readonly result: CallToolResult }
  | { readonly status: "failed"; readonly error: RpcError }
  | { readonly status: "cancelled" };

export type Task = TaskFacts & TaskState;

/** Where tasks live. A task must exist before anybody learns its id. */
export interface TaskBackend {
  /** The task as it stands; undefined when the caller has none of this id. */
  get(taskId: string, context: ServerContext): Promise<Task | undefined>;
  /** Takes answers to what the task asks, and ignores others; false when the caller has no such task. */
  update(taskId: string, responses: Readonly<Record<string, unknown>>, context: ServerContext): Promise<boolean>;
  /** Begins to end the task; one that has ended stays as it is. False when the caller has no such task. */
  cancel(taskId: string, context: ServerContext): Promise<boolean>;
}
