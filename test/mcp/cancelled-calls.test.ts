// Tests calls that a client cancels, with notifications/cancelled or by a closed connection, at each kind of request: no answer follows, and the next
// identical call reports the outcome of the action, which ran once.
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { Actions, ANSWERS, argumentsOf, namesOf, TOOLS } from "../cli/interrupted-calls.ts";
import { userForTest } from "../cli/test-user.ts";
import { serveHttpInProcess } from "../support/in-process.ts";
import { type CallResult, readResult } from "../support/results.ts";
import { inProcessServerForTest } from "../support/server.ts";
import { runCount } from "../support/thorough.ts";
import { connectLegacyClient, createModernClient, type McpTestClient, resultOf, type Sent } from "./http/raw-client.ts";

type Env = Readonly<Record<string, string>>;

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

/** Cancels the call at its first request for this operation. Calls share the requests for a token, which no call cancels. */
async function cancelCallAt(
  request: string,
  tool: keyof typeof TOOLS,
  answer: keyof typeof ANSWERS,
  connect: (env: Env) => Promise<Client>,
): Promise<void> {
  const { action, operationId, stageMs } = TOOLS[tool];
  const user = await userForTest(stageMs);
  const { service } = user;
  const withWait = await argumentsOf(tool, user);
  const { start, call } = await connect({ ...user.env, MIC_CONFIRM: "never" });
  const countRequests = async () => (await service.requests(request)).length;
  const before = await countRequests();
  const executedBefore = await service.countEffects(operationId);
  const fault = ANSWERS[answer];
  if (fault) await service.injectFault(fault, { operationId: request });
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
