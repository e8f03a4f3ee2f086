// A server with the tasks that the suite calls, on the product's serving code. The suite cannot start the product's own.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import {
  acceptedContent,
  type CallToolResult,
  type InputRequest,
  type InputRequiredResult,
  inputRequired,
  ProtocolErrorCode,
  Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import * as z from "zod/v4";
import { createRedactor } from "../../src/credentials/redaction.ts";
import { createRedact } from "../../src/mcp/messages.ts";
import { TASKS_EXTENSION } from "../../src/mcp/server-info.ts";
import {
  clientSupportsTasks,
  requireTasks,
  serveTasks,
  type Task,
  type TaskBackend,
  type TaskState,
  toCreateTaskResult,
} from "../../src/mcp/tasks/serve.ts";
import { startHttpServer } from "../../src/transports/http/serve.ts";
import { noSubscriptions } from "../mcp/http/in-process-server.ts";

interface WorkContext {
  askClient(request: InputRequest): Promise<unknown>;
  readonly signal: AbortSignal;
}
type Work = (context: WorkContext) => Promise<CallToolResult>;

interface RunningTask {
  readonly task: Task;
  update(responses: Readonly<Record<string, unknown>>): void;
  cancel(): void;
}

function startWork(work: Work): RunningTask {
  const taskId = randomUUID();
  const createdAt = new Date().toISOString();
  const questions = new Map<string, { readonly request: InputRequest; readonly answer: (response: unknown) => void }>();
  const cancelled = new AbortController();
  let lastUpdatedAt = createdAt;
  let end: TaskState | undefined;
  const touch = () => {
    lastUpdatedAt = new Date().toISOString();
  };
  const finish = (state: TaskState) => {
    end ??= state;
    touch();
  };
  const askClient = (request: InputRequest) =>
    new Promise<unknown>((answer) => {
      questions.set(randomUUID(), { request, answer });
      touch();
    });
  work({ askClient, signal: cancelled.signal }).then(
    (result) => finish({ status: "completed", result }),
    ({ message }: Error) => finish({ status: "failed", error: { code: ProtocolErrorCode.InternalError, message } }),
  );
  return {
    get task() {
      const inputRequests = Object.fromEntries([...questions].map(([key, { request }]) => [key, request]));
      const current: TaskState =
        questions.size > 0 ? { status: "input_required", inputRequests } : { status: "working" };
      return { taskId, createdAt, lastUpdatedAt, ttlMs: 600_000, pollIntervalMs: 200, ...(end ?? current) };
    },
    update(responses) {
      for (const [key, response] of Object.entries(responses)) {
        questions.get(key)?.answer(response);
        questions.delete(key);
      }
      touch();
    },
    cancel() {
      finish({ status: "cancelled" });
      cancelled.abort();
    },
  };
}

const running = new Map<string, RunningTask>();
const backend: TaskBackend = {
  get: async (id) => running.get(id)?.task,
  async update(id, responses) {
    running.get(id)?.update(responses);
    return running.has(id);
  },
  async cancel(id) {
    running.get(id)?.cancel();
    return running.has(id);
  },
};

function startTask(work: Work): CallToolResult {
  const started = startWork(work);
  running.set(started.task.taskId, started);
  return toCreateTaskResult(started.task);
}

const text = (textContent: string): CallToolResult => ({ content: [{ type: "text", text: textContent }] });
const form = (message: string, properties: Record<string, { type: "string" } | { type: "boolean" }>) =>
  inputRequired.elicit({ message, requestedSchema: { type: "object", properties, required: Object.keys(properties) } });
const requestName = () => form("What is your name?", { name: { type: "string" } });
const confirmation = form("Really?", { confirm: { type: "boolean" } });

type Args = Readonly<Record<string, unknown>>;
type Tool = (args: Args, context: ServerContext) => Promise<CallToolResult | InputRequiredResult>;

const longTool =
  (work: (args: Args) => Work, isRequired = true): Tool =>
  async (args, context) => {
    if (isRequired) requireTasks(context);
    if (clientSupportsTasks(context)) return startTask(work(args));
    return await work(args)({ askClient: () => Promise.reject(new Error("no client")), signal: context.mcpReq.signal });
  };

const tools: Readonly<Record<string, Tool>> = {
  greet: async ({ name }) => text(`Hello, ${name}!`),
  slow_compute: longTool(
    ({ seconds, label }) =>
      async ({ signal }) => {
        await sleep(Number(seconds) * 1_000, undefined, { signal });
        return text(`Computed ${label}.`);
      },
    false,
  ),
  failing_job: longTool(() => async () => ({ ...text(await sleep(200, "The job failed.")), isError: true })),
  protocol_error_job: longTool(() => async () => {
    await sleep(200);
    throw new Error("The job broke.");
  }),
  confirm_delete: longTool(({ filename }) => async ({ askClient }) => {
    await askClient(confirmation);
    return text(`Deleted ${filename}.`);
  }),
  multi_input: longTool(() => async ({ askClient }) => {
    await Promise.all([askClient(requestName()), askClient(confirmation)]);
    return text("Both answered.");
  }),
  async test_tool_with_task(_args, context) {
    requireTasks(context);
    const answer = acceptedContent(context.mcpReq.inputResponses, "user_name", z.object({ name: z.string() }));
    if (answer === undefined) return inputRequired({ inputRequests: { user_name: requestName() } });
    return startTask(async () => text(`Hello, ${answer.name}!`));
  },
};

export async function startTasksFixture(): Promise<{ readonly url: string; close(): Promise<void> }> {
  const ignore = () => undefined;
  const server = await startHttpServer(
    {
      createServer() {
        const mcpServer = new Server(
          { name: "tasks-fixture", version: "1.0.0" },
          { capabilities: { tools: {}, extensions: { [TASKS_EXTENSION]: {} } } },
        );
        mcpServer.setRequestHandler("tools/list", async () => ({
          tools: Object.keys(tools).map((name) => ({ name, inputSchema: { type: "object" as const } })),
        }));
        mcpServer.setRequestHandler("tools/call", async ({ params }, context) => {
          const tool = tools[params.name];
          return tool ? await tool(params.arguments ?? {}, context) : text("There is no such tool.");
        });
        serveTasks(mcpServer, backend);
        return mcpServer;
      },
      createSubscriptions: noSubscriptions,
      redact: createRedact(createRedactor()),
      log: { isLevelEnabled: () => true, debug: ignore, info: ignore, warn: ignore, error: ignore },
    },
    { address: "127.0.0.1", port: 0, access: undefined, maxSessions: 200, sessionIdleMs: 60_000 },
  );
  return { url: server.url, close: () => server.drain(1_000, new AbortController().signal) };
}
