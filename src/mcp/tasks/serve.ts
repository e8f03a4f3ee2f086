// Serves tasks/get, tasks/update and tasks/cancel (2026-07-28) with any backend, and creates the answer to a call that becomes a task:
// the Tasks extension, SEP-2663, https://modelcontextprotocol.io/seps/2663-tasks-extension.
import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type InputRequests,
  MissingRequiredClientCapabilityError,
  type ProtocolError,
  type Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import * as z from "zod/v4";
import { invalidParams } from "../invalid-params.ts";
import { TASKS_EXTENSION } from "../server-info.ts";

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

/** "completed": the call has a result, which may have isError; "failed": the call ended with a protocol error. */
export type TaskState =
  | { readonly status: "working" }
  | { readonly status: "input_required"; readonly inputRequests: InputRequests }
  | { readonly status: "completed"; readonly result: CallToolResult }
  | { readonly status: "failed"; readonly error: { readonly code: number; readonly message: string } }
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

const TasksCapability = z.looseObject({
  [CLIENT_CAPABILITIES_META_KEY]: z.looseObject({
    extensions: z.looseObject({ [TASKS_EXTENSION]: z.looseObject({}) }),
  }),
});

/** Whether the client supports tasks. Each request declares this separately. */
export const clientSupportsTasks = ({ mcpReq }: ServerContext): boolean =>
  TasksCapability.safeParse(mcpReq.envelope).success;

const missingTasksCapability = (): ProtocolError =>
  new MissingRequiredClientCapabilityError(
    { requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } } },
    `The client has to declare the extension ${TASKS_EXTENSION} on this request.`,
  );

export function requireTasks(context: ServerContext): void {
  if (!clientSupportsTasks(context)) throw missingTasksCapability();
}

const TaskSubscriptionParams = z.looseObject({ notifications: z.looseObject({ taskIds: z.array(z.unknown()) }) });

/** Refuses task updates to a client that does not support tasks. A client that supports them gets no updates: it polls its tasks. */
export const checkTaskSubscription = (params: Readonly<Record<string, unknown>>): ProtocolError | undefined =>
  TaskSubscriptionParams.safeParse(params).success && !TasksCapability.safeParse(params["_meta"]).success
    ? missingTasksCapability()
    : undefined;

/** Creates the answer to a tools/call that continues as a task. tasks/get returns the task's input requests or its result. */
export function toCreateTaskResult(task: Task): CallToolResult {
  const { taskId, status, statusMessage, createdAt, lastUpdatedAt, ttlMs, pollIntervalMs } = task;
  return {
    resultType: "task",
    taskId,
    status,
    statusMessage,
    createdAt,
    lastUpdatedAt,
    ttlMs,
    pollIntervalMs,
    // Otherwise the SDK would add `content`, because every tool result has it.
    content: [],
  };
}

const TaskParams = z.object({ taskId: z.string() });

const taskNotFound = (): ProtocolError =>
  invalidParams("Task not found: no task of this client has this taskId (any more).");

export function serveTasks(server: Server, backend: TaskBackend): void {
  server.setRequestHandler("tasks/get", { params: TaskParams }, async ({ taskId }, context) => {
    requireTasks(context);
    const task = await backend.get(taskId, context);
    if (!task) throw taskNotFound();
    // The result is the one that tools/call would have returned, including its resultType.
    return task.status === "completed" ? { ...task, result: { resultType: "complete", ...task.result } } : { ...task };
  });
  server.setRequestHandler("tasks/update", { params: TaskParams }, async ({ taskId }, context) => {
    requireTasks(context);
    // The SDK moves inputResponses from the params to the context.
    if (!(await backend.update(taskId, context.mcpReq.inputResponses ?? {}, context))) throw taskNotFound();
    return {};
  });
  server.setRequestHandler("tasks/cancel", { params: TaskParams }, async ({ taskId }, context) => {
    requireTasks(context);
    if (!(await backend.cancel(taskId, context))) throw taskNotFound();
    return {};
  });
}
