// A client of 2026-07-28 over stdio that supports tasks. The SDK's own client refuses results that are tasks, so this one sends
// JSON-RPC messages itself. The schemas of the official client (@modelcontextprotocol/ext-tasks) define a task, and its sessions
// can use this connection.
import { type ConnectedMcpSessionPort, withTasks } from "@modelcontextprotocol/ext-tasks/client";
import { toJsonValue } from "@modelcontextprotocol/ext-tasks/core";
import { CreateTaskResultV2Schema, GetTaskResultV2Schema } from "@modelcontextprotocol/ext-tasks/core/v2";
import { expect } from "vitest";
import * as z from "zod/v4";
import { type Answer, createLineClient, type ServerChannel } from "../../support/server.ts";
import { modernEnvelope } from "../modern-envelope.ts";

export const TASKS = "io.modelcontextprotocol/tasks";

const Request = z.object({ method: z.string(), params: z.record(z.string(), z.unknown()).optional() });

interface DeclaredCapabilities {
  /** Whether the request declares support for tasks (default true). */
  readonly tasks?: boolean;
  readonly elicitation?: boolean;
}

const envelope = ({ tasks = true, elicitation = false }: DeclaredCapabilities) =>
  modernEnvelope({ ...(tasks && { extensions: { [TASKS]: {} } }), ...(elicitation && { elicitation: { form: {} } }) });

export type TaskClient = ReturnType<typeof createTaskClient>;

export function createTaskClient(channel: ServerChannel) {
  const client = createLineClient(channel);
  const request = (method: string, params: object = {}, declared: DeclaredCapabilities = {}): Promise<Answer> =>
    client.request(method, { ...params, _meta: envelope(declared) });

  const port: ConnectedMcpSessionPort = {
    endpointId: "mic-mcp",
    taskCapabilities: { generation: "v2", capabilities: {} },
    async dispatch(incoming) {
      const { method, params } = Request.parse(incoming);
      const { result, error } = await request(method, params);
      if (error) return { kind: "error", error: { code: error.code, message: error.message } };
      return { kind: "result", result: toJsonValue(result) };
    },
    onServerRequest: () => () => undefined,
    onNotification: () => () => undefined,
    onInvalidated: () => () => undefined,
    invalidated: false,
  };

  return {
    request,
    begin: async (name: string, args: object) =>
      CreateTaskResultV2Schema.parse((await request("tools/call", { name, arguments: args })).result),
    get: async (taskId: string) => GetTaskResultV2Schema.parse((await request("tasks/get", { taskId })).result),
    async refusal(method: string, params: object, declared?: DeclaredCapabilities) {
      const { error, result } = await request(method, params, declared);
      if (!error) throw new Error(`${method} was answered: ${JSON.stringify(result)}`);
      return error;
    },
    /** Subscribes to notifications, and returns the acknowledgement. */
    async listen(notifications: object) {
      const method = "subscriptions/listen";
      client.send({ id: 1, method, params: { notifications, _meta: envelope({}) } });
      await expect.poll(() => client.notifications).toHaveLength(1);
      return client.notifications[0];
    },
    /** A session of the official client over this connection. */
    session: () => withTasks(port),
    kill: channel.end,
  };
}
