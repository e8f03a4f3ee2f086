// Serves tasks/get, tasks/update and tasks/cancel (2026-07-28) over any backend, and makes the answer of a call that is a task.
import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  type Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import * as z from "zod/v4";
import { TASKS_EXTENSION } from "../server-info.ts";
import type { Task, TaskBackend } from "./task.ts";

const TasksCapability = z.looseObject({
  [CLIENT_CAPABILITIES_META_KEY]: z.looseObject({
    extensions: z.looseObject({ [TASKS_EXTENSION]: z.looseObject({}) }),
  }),
});

/** Each request declares for itself whether its client takes tasks. */
export const clientSupportsTasks = ({ mcpReq }: ServerContext): boolean =>
  TasksCapability.safeParse(mcpReq.envelope).success;

const missingTasksCapability = (): ProtocolError =>
  new MissingRequiredClientCapabilityError(
    { requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } } },
    `The client has to declare the extension ${TASKS_EXTENSION} on this request.`,
  );

/** Throws the protocol's error where the client does not take tasks. */
export function requireTasks(context: ServerContext): void {
  if (!clientSupportsTasks(context)) throw missingTasksCapability();
}

const TaskSubscriptionParams = z.looseObject({ notifications: z.looseObject({ taskIds: z.array(z.unknown()) }) });

/**
 * Why a subscriptions/listen request with these params is not served: it wants updates of tasks, and its client does not take
 * tasks. A client that takes them gets an acknowledgement without them: it polls tasks, which send no updates.
 */
export const checkTaskSubscription = (params: Readonly<Record<string, unknown>>): ProtocolError | undefined =>
  TaskSubscriptionParams.safeParse(params).success && !TasksCapability.safeParse(params["_meta"]).success
    ? missingTasksCapability()
    : undefined;

/** The answer to a tools/call that goes on as a task. tasks/get gives what the task asks, or its result. */
export function toCreateTaskResult(task: Task): CallToolResult {
  const { taskId, status, statusMessage, createdAt, lastUpdatedAt, ttlMs, pollIntervalMs } = task;
  return {
    resultType: "task",
    taskId,
    status,
    ...(statusMessage !== undefined && { statusMessage }),
    createdAt,
    lastUpdatedAt,
    ttlMs,
    ...(pollIntervalMs !== undefined && { pollIntervalMs }),
    // The SDK would add it: every tool result has content.
    content: [],
  };
}

const TaskParams = z.object({ taskId: z.string() });

const taskNotFound = (): ProtocolError =>
  new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    "Task not found: no task of this client has this taskId (any more).",
  );

export function serveTasks(server: Server, backend: TaskBackend): void {
  server.setRequestHandler("tasks/get", { params: TaskParams }, async ({ taskId }, context) => {
    requireTasks(context);
    const task = await backend.get(taskId, context);
    if (!task) throw taskNotFound();
    // The result is what tools/call would have answered, its kind included.
    return task.status === "completed" ? { ...task, result: { resultType: "complete", ...task.result } } : { ...task };
  });
  server.setRequestHandler("tasks/update", { params: TaskParams }, async ({ taskId }, context) => {
    requireTasks(context);
    // The SDK lifts them out of the params.
    if (!(await backend.update(taskId, context.mcpReq.inputResponses ?? {}, context))) throw taskNotFound();
    return {};
  });
  server.setRequestHandler("tasks/cancel", { params: TaskParams }, async ({ taskId }, context) => {
    requireTasks(context);
    if (!(await backend.cancel(taskId, context))) throw taskNotFound();
    return {};
  });
}
