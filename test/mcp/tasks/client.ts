// A client of 2026-07-28 over stdio that supports tasks. The SDK's own client refuses results that are tasks, so this one sends
// JSON-RPC messages itself. The schemas of the official client (@modelcontextprotocol/ext-tasks) define a task, and its sessions
// can use this connection.
import {
  type ConnectedMcpSessionPort,
  type TaskEnabledSession,
  withTasks,
} from "@modelcontextprotocol/ext-tasks/client";
import { toJsonValue } from "@modelcontextprotocol/ext-tasks/core";
import { CreateTaskResultV2Schema, GetTaskResultV2Schema } from "@modelcontextprotocol/ext-tasks/core/v2";
import { expect } from "vitest";
import * as z from "zod/v4";
import { type Answer, createLineClient, type ServerChannel } from "../../support/server.ts";
import { modernEnvelope } from "../modern-envelope.ts";

export const TASKS = "io.modelcontextprotocol/tasks";

const Request = z.object({ method: z.string(), params: z.record(z.string(), z.unknown()).optional() });

export interface DeclaredCapabilities {
  /** Whether the request declares support for tasks (default true). */
  readonly tasks?: boolean;
  readonly elicitation?: boolean;
}

export interface TaskClient {
  request(method: string, params?: object, declared?: DeclaredCapabilities): Promise<Answer>;
  /** Makes a call whose answer must be a task. */
  begin(tool: string, args: object): Promise<z.output<typeof CreateTaskResultV2Schema>>;
  get(taskId: string): Promise<z.output<typeof GetTaskResultV2Schema>>;
  /** The error of a refused request; rejects if the request succeeds. */
  refusal(method: string, params: object, declared?: DeclaredCapabilities): Promise<{ code: number; message: string }>;
  /** Sends a request that is answered only by notifications. */
  send(method: string, params: object): void;
  /** The first notification of this method; waits for up to 10 s if there is none yet. */
  notification(method: string): Promise<unknown>;
  /** A session of the official client over this connection. */
  session(): TaskEnabledSession;
  /** Ends the server. */
  kill(): Promise<void>;
}

const envelope = ({ tasks = true, elicitation = false }: DeclaredCapabilities) =>
  modernEnvelope({
    ...(tasks && { extensions: { [TASKS]: {} } }),
    ...(elicitation && { elicitation: { form: {} } }),
  });

/** Creates the client of a server that was just started. */
export function createTaskClient(channel: ServerChannel): TaskClient {
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
    begin: async (name, args) =>
      CreateTaskResultV2Schema.parse((await request("tools/call", { name, arguments: args })).result),
    get: async (taskId) => GetTaskResultV2Schema.parse((await request("tasks/get", { taskId })).result),
    async refusal(method, params, declared) {
      const { error, result } = await request(method, params, declared);
      if (!error) throw new Error(`${method} was answered: ${JSON.stringify(result)}`);
      return error;
    },
    send: (method, params) => client.send({ id: 1, method, params: { ...params, _meta: envelope({}) } }),
    async notification(method) {
      const find = () =>
        client.notifications.find((message) => z.looseObject({ method: z.literal(method) }).safeParse(message).success);
      await expect.poll(find, { timeout: 10_000 }).toBeDefined();
      return find();
    },
    session: () => withTasks(port),
    kill: channel.end,
  };
}
