// Serves the API's jobs as MCP tasks. A task's id contains the job's id and the action that started it, signed or encrypted. So any
// server with the same keys finds the task again, even after a restart, and nothing is stored.

import {
  type CallToolResult,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { CALL_LIMIT_MS } from "../../api-client/attempts.ts";
import type { Job } from "../../contract/jobs.ts";
import { join, render } from "../../core/text.ts";
import type { ToolName } from "../../core/tool-names.ts";
import { TERMINAL_STATES } from "../../toolkit/describe/job.ts";
import {
  cancelStartedJob,
  pollIntervalMs,
  readStartedJob,
  type StartedJob,
  startedJobFrom,
} from "../../toolkit/jobs/job-task.ts";
import { renderResult, type ToolResult } from "../../toolkit/results.ts";
import type { ToolContext } from "../../toolkit/tool-context.ts";
import type { Runtime } from "../runtime.ts";
import { factsOf, type ResourceLinkFactory, reportFailure, resultMeta, toCallToolResult } from "../tools/answer.ts";
import { agentReaderOf, createToolContext } from "../tools/call.ts";
import { type Task, type TaskBackend, toCreateTaskResult } from "./serve.ts";

export interface JobTasks extends TaskBackend {
  /** Creates the task for a tool's result; undefined if the result itself is the answer. Throws Failure. */
  createTask(tool: ToolName, result: ToolResult): Promise<CallToolResult | undefined>;
}

/** The journal tracks a cancellation as an action of this tool. */
const CANCEL = "cancel_job";

const internalError = (text: string, data?: unknown): ProtocolError =>
  new ProtocolError(ProtocolErrorCode.InternalError, text, data);

export function createJobTasks(runtime: Runtime, linkOf: ResourceLinkFactory): JobTasks {
  const { ports, offered, log, taskIds: ids } = runtime;

  /** A job that waits for a user of the API is also "working", since the client cannot provide any input. */
  function toTask(taskId: string, result: ToolResult, job: Job): Task {
    const { state, createdAt, updatedAt: lastUpdatedAt } = job;
    const journalNotice = runtime.journalNotice("action");
    const reader = agentReaderOf(runtime);
    const statusMessage = render(join([result.summary, journalNotice]), reader);
    const facts = { taskId, statusMessage, createdAt, lastUpdatedAt, ttlMs: null };
    if (!TERMINAL_STATES.has(state))
      return { ...facts, status: "working", pollIntervalMs: pollIntervalMs(job, ports.api.timing.now()) };
    if (state === "CANCELLED") return { ...facts, status: "cancelled" };
    const notice = result.action?.replayed === true ? undefined : journalNotice;
    const answer = toCallToolResult(result, renderResult(result, reader, notice), linkOf);
    // A failed job is no protocol error.
    return { ...facts, status: "completed", result: { ...answer, isError: state === "FAILED" } };
  }

  /** Runs `work` for the task's job. Returns undefined if the id is not valid or the API has no such job. Throws ProtocolError. */
  async function withJob<T>(
    taskId: string,
    { mcpReq: { method, signal } }: ServerContext,
    work: (started: StartedJob, ctx: ToolContext) => Promise<T>,
    tool?: ToolName,
  ): Promise<T | undefined> {
    try {
      const started = await ids.decode(taskId);
      if (!started) return undefined;
      const limits = { signal, deadlineAt: ports.api.timing.clockMs() + CALL_LIMIT_MS };
      return await work(started, createToolContext(runtime, tool ?? started.tool, limits));
    } catch (error) {
      if (error instanceof ProtocolError) throw error;
      const facts = factsOf(error);
      log.info({ method, kind: facts.kind }, "task request failed");
      if (facts.kind === "not_found") return undefined;
      const reader = agentReaderOf(runtime);
      const { report, text } = reportFailure(method, facts, reader);
      throw internalError(text, { "mic-mcp/error": report });
    }
  }

  return {
    async createTask(tool, result) {
      const { job } = result;
      const started = startedJobFrom(tool, result);
      if (!started || !job) return undefined;
      return { ...toCreateTaskResult(toTask(await ids.encode(started), result, job)), _meta: resultMeta(result) };
    },

    get: (taskId, context) =>
      withJob(taskId, context, async (started, ctx) => {
        const result = await readStartedJob(started, ctx);
        return toTask(taskId, result, result.data);
      }),

    async update(taskId, _responses, context) {
      // A job never asks its client for input: the call that starts the job asks the user first.
      return (await withJob(taskId, context, async () => true)) ?? false;
    },

    async cancel(taskId, context) {
      const wasCanceled = await withJob(
        taskId,
        context,
        async (started, ctx) => {
          if (!offered.has(CANCEL)) throw internalError("Nothing was canceled: this server does not offer cancel_job.");
          await cancelStartedJob(started, ctx);
          return true;
        },
        CANCEL,
      );
      return wasCanceled ?? false;
    },
  };
}
