// Kills servers in the middle of actions, so that the next server with the same journal finds their outcomes unknown.
import { join } from "node:path";
import { expect } from "vitest";
import * as z from "zod/v4";
import { Service } from "../emulator/service.ts";
import { FILE, fileId, readJob, submitJob } from "../emulator/work.ts";
import { runInProcess } from "../support/command.ts";
import { emulatorForTest } from "../support/emulator.ts";
import { emulatorEnv, inProcessClientForTest, type Reply } from "../support/mcp.ts";
import { inProcessServerForTest, type RawClient, startServer } from "../support/server.ts";
import { folderForTest } from "../support/temporary-folder.ts";

export const reason = "No longer needed";
/** A part of the instructions while an action is unresolved. */
export const UNRESOLVED = "unknown outcome: call resolve_actions";

const Step = z.object({ tool: z.string(), arguments: z.record(z.string(), z.unknown()) });
export const Result = z.looseObject({
  ...{ idempotencyKey: z.string(), targetId: z.string(), outcome: z.string(), finding: z.string().default("") },
  createdId: z.string().optional(),
});
export const Resolved = z.object({ summary: z.string(), nextStep: Step.optional(), results: z.array(Result) });
const Action = z.looseObject({ state: z.string(), idempotencyKey: z.string() });
export const Listed = z.object({ summary: z.string(), nextStep: Step.optional(), actions: z.array(Action) });

type Caller = Pick<RawClient, "call">;
export const resolve = async ({ call }: Caller, args: object = {}) =>
  Resolved.parse((await call("resolve_actions", args)).structured);
export const list = async ({ call }: Caller, args: object = {}) =>
  Listed.parse((await call("list_actions", args)).structured);

export interface KilledCall {
  readonly tool: string;
  readonly operationId: string;
  readonly args: object;
  readonly arrives?: boolean;
}

export async function createScene() {
  const emulator = await emulatorForTest({ stageMs: 20 });
  const service = new Service(emulator, { now: Date.now, advance: () => undefined });
  const env = {
    ...emulatorEnv(emulator),
    MIC_WORKSPACE_ID: emulator.workspaceId,
    MIC_STATE_DIR: join(await folderForTest(), "state"),
  };
  const sent = async (operationId: string) => (await service.requests(operationId)).length;
  const executions = (operationId: string) => service.countEffects(operationId);

  return {
    service,
    env,
    sent,
    executions,
    /** Kills a server after the API has received the requests of these calls and before it answers them. `first`: a tool to call before. */
    async killDuring(calls: readonly KilledCall[], launcher: readonly string[] = [], first?: string): Promise<void> {
      const server = await startServer({ env, under: launcher });
      if (first !== undefined) await server.call(first, {});
      for (const [at, { tool, operationId, args, arrives = true }] of calls.entries()) {
        const count = arrives ? executions : sent;
        const before = await count(operationId);
        await service.injectFault({ kind: "hang", afterCommit: arrives }, { operationId });
        server.send(tool, args, at);
        await expect.poll(() => count(operationId), { interval: 20 }).toBe(before + 1);
      }
      await server.kill();
    },
    server: () => inProcessServerForTest(env),
    connect: () => inProcessClientForTest("v2-legacy", env),
    /** Connects a client with a user who replies with `user.action` to each question. */
    async connectWithUser(action: Reply["action"]) {
      const questions: string[] = [];
      const user = { action };
      const onElicitation = (question: string): Reply => {
        questions.push(question);
        return { action: user.action };
      };
      return { client: await inProcessClientForTest("v2-legacy", env, { onElicitation }), questions, user };
    },
    type: (...args: readonly string[]) => runInProcess(args, { env }),
    registration(file: number) {
      const args = { inputKind: "M4_FILE", referenceId: fileId(service, file) };
      return { tool: "register_input", operationId: "createMicPublicInput", args };
    },
    cancellation: (jobId: string) => ({ tool: "cancel_job", operationId: "cancelMicJob", args: { jobId, reason } }),
    retry(jobId: string, retryMode = "SAFE_RESUME") {
      return { tool: "retry_job", operationId: "retryMicJob", args: { jobId, retryMode, reason } };
    },
    failedJob: () => createJobIn("FAILED", service, FILE.failsRetryably),
    /** The job stays paused until it is canceled. */
    pausedJob: () => createJobIn("PAUSED", service, FILE.pauses),
    isCanceled: (id: string) =>
      expect.poll(async () => (await readJob(service, id)).state, { interval: 20 }).toBe("CANCELLED"),
  };
}

export async function createJobIn(state: string, service: Service, file: number) {
  const { id } = await submitJob(service, file);
  await expect.poll(async () => (await readJob(service, id)).state, { interval: 20 }).toBe(state);
  return { id };
}
