// Tasks as the protocol shows them (2026-07-28): tasks/get, tasks/update, tasks/cancel over any backend, and a tool's
// answer that is a task.
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
import type { Listen } from "../resources/listen.ts";
import { TASKS_EXTENSION } from "../server-info.ts";
import type { Task, TaskBackend } from "./task.ts";

const Declaring = z.looseObject({
  [CLIENT_CAPABILITIES_META_KEY]: z.looseObject({
    extensions: z.looseObject({ [TASKS_EXTENSION]: z.looseObject({}) }),
  }),
});

/** Each request says for itself whether its client takes tasks. */
export const takesTasks = ({ mcpReq }: ServerContext): boolean => Declaring.safeParse(mcpReq.envelope).success;

const undeclared = (): ProtocolError =>
  new MissingRequiredClientCapabilityError(
    { requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } } },
    `The client has to declare the extension ${TASKS_EXTENSION} on this request.`,
  );

/** Throws the protocol's error where the client does not take tasks. */
export function requireTasks(context: ServerContext): void {
  if (!takesTasks(context)) throw undeclared();
}

const AsksForTasks = z.looseObject({ notifications: z.looseObject({ taskIds: z.array(z.unknown()) }) });

/**
 * Why a subscriptions/listen request is not served: it wants to hear of tasks, and its client does not take any. One that
 * does is acknowledged without them: tasks are asked for here, not told of.
 */
export const refusedListen = ({ params }: Listen): ProtocolError | undefined =>
  AsksForTasks.safeParse(params).success && !Declaring.safeParse(params["_meta"]).success ? undeclared() : undefined;

/** The answer to a tools/call that goes on as a task. What it asks, or ended with, is for tasks/get to tell. */
export function taskAnswer(task: Task): CallToolResult {
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
    // Every result of a tool has content: the SDK would add it.
    content: [],
  };
}

const Named = z.object({ taskId: z.string() });

const unknownTask = (): ProtocolError =>
  new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    "Task not found: no task of this client has this taskId (any more).",
  );

export function serveTasks(server: Server, backend: TaskBackend): void {
  server.setRequestHandler("tasks/get", { params: Named }, async ({ taskId }, context) => {
    requireTasks(context);
    const task = await backend.get(taskId, context);
    if (!task) throw unknownTask();
    // The result is what tools/call would have answered, its kind included.
    return task.status === "completed" ? { ...task, result: { resultType: "complete", ...task.result } } : { ...task };
  });
  server.setRequestHandler("tasks/update", { params: Named }, async ({ taskId }, context) => {
    requireTasks(context);
    // The SDK lifts them out of the params.
    if (!(await backend.update(taskId, context.mcpReq.inputResponses ?? {}, context))) throw unknownTask();
    return {};
  });
  server.setRequestHandler("tasks/cancel", { params: Named }, async ({ taskId }, context) => {
    requireTasks(context);
    if (!(await backend.cancel(taskId, context))) throw unknownTask();
    return {};
  });
}
