// Tests calls that a client cancels, with notifications/cancelled or by a closed connection, at each kind of request: no answer follows, and the next
// identical call reports the outcome of the action, which ran once.
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import * as z from "zod/v4";
import { userForTest } from "../cli/test-user.ts";
import { FILE, findOneInputOffer, registerInput } from "../emulator/work.ts";
import { serveHttpInProcess } from "../support/in-process.ts";
import { type CallResult, readResult } from "../support/results.ts";
import { inProcessServerForTest } from "../support/server.ts";
import { runCount } from "../support/thorough.ts";
import { createBatchArguments, createRunArguments } from "../tools/bench.ts";
import { connectLegacyClient, createModernClient, type McpTestClient, resultOf, type Sent } from "./http/raw-client.ts";

type User = Awaited<ReturnType<typeof userForTest>>;
type Env = Readonly<Record<string, string>>;

/** The action of a tool as the journal names it and its operation, operations that the call requests, the duration of a job's stage that the tool needs in ms, and arguments. */
const TOOLS = {
  run_job: {
    action: "submit_job",
    operationId: "createMicJob",
    requests: ["createMicPublicInput", "createMicJob", "getMicJob"],
    stageMs: 60_000,
    args: ({ service }: User): Promise<object> => createRunArguments(service, FILE.succeeds),
  },
  run_jobs: {
    action: "submit_job",
    operationId: "createMicJob",
    requests: ["createMicPublicInput", "createMicJob", "getMicJob"],
    stageMs: 60_000,
    args: ({ service }: User): Promise<object> => createBatchArguments(service, [FILE.succeeds]),
  },
  retry_job: {
    action: "retry_job",
    operationId: "retryMicJob",
    requests: ["retryMicJob", "getMicJob"],
    stageMs: 20,
    args: async (user: User) => ({ jobId: await user.failedJob(), retryMode: "SAFE_RESUME", reason: "again" }),
  },
  retry_jobs: {
    action: "retry_job",
    operationId: "retryMicJob",
    requests: ["retryMicJob", "getMicJob"],
    stageMs: 20,
    args: async (user: User) => ({ jobIds: [await user.failedJob()], retryMode: "SAFE_RESUME", reason: "again" }),
  },
  cancel_job: {
    action: "cancel_job",
    operationId: "cancelMicJob",
    requests: ["cancelMicJob", "getMicJob"],
    stageMs: 60_000,
    args: async (user: User) => ({ jobId: await user.job(FILE.succeeds), reason: "stop" }),
  },
  cancel_jobs: {
    action: "cancel_job",
    operationId: "cancelMicJob",
    requests: ["cancelMicJob", "getMicPublicOperation"],
    stageMs: 60_000,
    args: async (user: User) => ({ jobIds: [await user.job(FILE.succeeds)], reason: "stop" }),
  },
  request_file_processing: {
    action: "request_file_processing",
    operationId: "requestMicSharedFileProcessing",
    requests: ["requestMicSharedFileProcessing"],
    stageMs: 60_000,
    async args({ service }: User) {
      const { id: inputId } = await registerInput(service, FILE.succeeds);
      const { recipe } = await findOneInputOffer(service);
      const { versionId: recipeVersionId, versionHash: recipeVersionHash } = recipe;
      const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
      return { inputId, recipeVersionId, recipeVersionHash, purpose: "test", expiresAt };
    },
  },
} as const;

/** Whether and how the API answers the request at which the call is canceled. */
const ANSWERS = {
  answered: undefined,
  "not answered": { kind: "hang" },
  "executed but not answered": { kind: "hang", afterCommit: true },
} as const;

/** A call in flight. `isAnswered`: whether its answer has arrived. `cancel` resolves when the server has received the cancellation. */
interface RunningCall {
  isAnswered(): boolean;
  cancel(): Promise<unknown>;
}

interface Client {
  start(tool: string, args: object): RunningCall;
  call(tool: string, args: object): Promise<CallResult>;
}

function toRunningCall({ answer }: Sent, id: number, cancel: RunningCall["cancel"]): RunningCall {
  let isAnswered = false;
  answer.then(({ messages }) => (isAnswered = messages.some((message) => message.id === id))).catch(() => undefined);
  return { isAnswered: () => isAnswered, cancel };
}

const callOver =
  ({ call }: McpTestClient): Client["call"] =>
  async (tool, args) =>
    readResult(await resultOf(call(2, tool, args), 2));

const WAYS: Readonly<Record<string, (env: Env) => Promise<Client>>> = {
  async "notifications/cancelled over stdio"(env) {
    const { send, received, cancel, call } = await inProcessServerForTest(env);
    return {
      start(tool, args) {
        send(tool, args, 1);
        return { isAnswered: () => received(1) !== undefined, cancel: async () => cancel(1) };
      },
      call,
    };
  },
  async "notifications/cancelled in a session over HTTP"(env) {
    const session = await connectLegacyClient(await serveHttpInProcess(env));
    const cancel = () => session.notify("notifications/cancelled", { requestId: 1 });
    return {
      start: (tool, args) => toRunningCall(session.call(1, tool, args), 1, cancel),
      call: callOver(session),
    };
  },
  async "a closed connection over HTTP"(env) {
    const client = createModernClient(await serveHttpInProcess(env));
    return {
      start(tool, args) {
        const sent = client.call(1, tool, args);
        return toRunningCall(sent, 1, sent.cut);
      },
      call: callOver(client),
    };
  },
};

const Actions = z.looseObject({
  actions: z.array(
    z.looseObject({
      tool: z.string(),
      state: z.string(),
      createdId: z.string().optional(),
      idempotencyKey: z.string(),
    }),
  ),
});

/** Cancels the call at its first request for this operation. Calls share the requests for a token, which no call cancels. */
async function cancelCallAt(
  request: string,
  tool: keyof typeof TOOLS,
  answer: keyof typeof ANSWERS,
  connect: (env: Env) => Promise<Client>,
): Promise<void> {
  const { action, operationId, stageMs, args: argsFor } = TOOLS[tool];
  const user = await userForTest(stageMs);
  const { service } = user;
  const args = await argsFor(user);
  const { start, call } = await connect({ ...user.env, MIC_CONFIRM: "never" });
  const countRequests = async () => (await service.requests(request)).length;
  const before = await countRequests();
  const executedBefore = await service.countEffects(operationId);
  const fault = ANSWERS[answer];
  if (fault) await service.injectFault(fault, { operationId: request });
  const withWait = (waitSeconds: number) => (tool === "request_file_processing" ? args : { ...args, waitSeconds });
  const running = start(tool, withWait(40));
  while (!running.isAnswered() && (await countRequests()) === before) await sleep(2);
  await running.cancel();
  await service.admin("DELETE", "faults");

  const again = await call(tool, withWait(0));
  const { actions } = Actions.parse((await call("list_actions", {})).structured);
  const made = actions.find((each) => each.tool === action);
  const about = `${tool}, ${request} ${answer}: ${again.text}\n${JSON.stringify(actions)}`;
  expect(made, about).toMatchObject({ state: "succeeded" });
  expect(again.isError, about).toBe(false);
  // A replay of a cancellation shows the job, not the operation.
  expect(again.raw, about).toContain(tool === "cancel_job" ? made?.idempotencyKey : made?.createdId);
  expect((await service.countEffects(operationId)) - executedBefore, about).toBe(1);
  if (fault) expect(running.isAnswered(), about).toBe(false);
}

const namesOf = <T extends object>(table: T): readonly (keyof T)[] =>
  z.array(z.custom<keyof T>()).parse(Object.keys(table));

const rows = namesOf(TOOLS).flatMap((tool) =>
  TOOLS[tool].requests.flatMap((request) => namesOf(ANSWERS).map((answer) => [tool, request, answer] as const)),
);

test.each(rows.map((row, index) => [...row, index] as const))(
  "%s, canceled at %s that is %s, runs once, and the next identical call reports it",
  async (tool, request, answer, index) => {
    const ways = Object.values(WAYS);
    // All ways only in the thorough run.
    const some = runCount(1, ways.length);
    for (const connect of ways.filter((_, way) => (way + index + Math.floor(index / ways.length)) % ways.length < some))
      await cancelCallAt(request, tool, answer, connect);
  },
);
