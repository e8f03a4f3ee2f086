// Defines a task on the wire and the interface of a task backend, as in the Tasks extension, SEP-2663,
// https://modelcontextprotocol.io/seps/2663-tasks-extension.
import type { CallToolResult, InputRequests, ServerContext } from "@modelcontextprotocol/server";

interface TaskFacts {
  readonly taskId: string;
  readonly statusMessage?: string;
  /** An RFC 3339 timestamp, as is `lastUpdatedAt`. */
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  /** How long the task can be read after its creation, in milliseconds. null: without limit. */
  readonly ttlMs: number | null;
  readonly pollIntervalMs?: number;
}

interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** "completed": the call has a result, which may have isError; "failed": the call ended with a protocol error. */
export type TaskState =
  | { readonly status: "working" }
  | { readonly status: "input_required"; readonly inputRequests: InputRequests }
  | { readonly status: "completed"; readonly result: CallToolResult }
  | { readonly status: "failed"; readonly error: RpcError }
  | { readonly status: "cancelled" };

export type Task = TaskFacts & TaskState;

/** Reads and changes tasks. A task must exist before its id is sent to a client. */
export interface TaskBackend {
  /** Returns the current state of the task; undefined if the caller has no task with this id. */
  get(taskId: string, context: ServerContext): Promise<Task | undefined>;
  /** Accepts responses to the task's input requests and ignores others. Returns false if the caller has no such task. */
  update(taskId: string, responses: Readonly<Record<string, unknown>>, context: ServerContext): Promise<boolean>;
  /** Starts to cancel the task; a task that has ended is unchanged. Returns false if the caller has no such task. */
  cancel(taskId: string, context: ServerContext): Promise<boolean>;
}
