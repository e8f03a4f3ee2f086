// A process that remembers nothing finishes what a killed one left, by list_actions and its nextStep alone: for each of the five actions.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod/v4";
import { type Emulator, startEmulator } from "../../src/emulator/index.ts";
import { example, makeWorld, type World } from "../emulator/example.ts";
import { Service } from "../emulator/service.ts";
import { type ManualClock, manualClock } from "../support/emulator.ts";
import { emulatorEnv } from "../support/mcp.ts";
import { startServer } from "../support/server.ts";

const Executions = z.array(z.looseObject({ idempotencyKey: z.string(), executions: z.int() }));
const Requests = z.array(z.looseObject({ operationId: z.string().nullable() }));
const NextStep = z.object({ tool: z.string(), arguments: z.record(z.string(), z.unknown()) });
const Listed = z.object({
  actions: z.array(
    z.looseObject({ tool: z.string(), idempotencyKey: z.string(), state: z.string(), nextStep: NextStep }),
  ),
});

const ACTIONS = [
  ["register_input", "createMicPublicInput"],
  ["submit_job", "createMicJob"],
  ["cancel_job", "cancelMicJob"],
  ["retry_job", "retryMicJob"],
  ["request_file_processing", "requestMicSharedFileProcessing"],
] as const;

let emulator: Emulator;
let service: Service;
let world: World;
beforeAll(async () => {
  const clock: ManualClock = manualClock();
  emulator = await startEmulator({ clock });
  service = new Service(emulator, clock);
  world = await makeWorld(service);
});
afterAll(() => emulator.close());

const admin = async (path: string, body?: object): Promise<unknown> => {
  const answer = await fetch(`${emulator.baseUrl}/__emulator/${path}`, {
    ...(body && { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
  });
  if (!answer.ok) throw new Error(await answer.text());
  return await answer.json();
};
const executions = async (key: string): Promise<number> =>
  Executions.parse(await admin("executions"))
    .filter(({ idempotencyKey }) => idempotencyKey === key)
    .reduce((sum, each) => sum + each.executions, 0);

describe.each([
  ["after the service has done it", true],
  ["before the service has done it", false],
])("killed %s", (_when, afterCommit) => {
  test.each(ACTIONS)("%s", { timeout: 60_000 }, async (tool, operationId) => {
    const stateDir = await mkdtemp(join(tmpdir(), "mic-mcp-forgotten-"));
    onTestFinished(() => rm(stateDir, { recursive: true, force: true }));
    const env = { ...emulatorEnv(emulator), MIC_STATE_DIR: stateDir };
    const { path = {}, body = {} } = await example(world, operationId);
    const args = { ...Object(path), ...Object(body) };
    const server = await startServer({ env });
    const received = async () =>
      Requests.parse(await admin("requests")).filter((each) => each.operationId === operationId).length;
    const before = await received();
    await admin("faults", { operationId, fault: { kind: "hang", afterCommit } });
    server.send(tool, args, 1);
    await expect.poll(received, { timeout: 20_000 }).toBeGreaterThan(before);
    await server.kill();

    const next = await startServer({ env });
    const listed = Listed.parse((await next.call("list_actions", {})).structured);
    expect(listed.actions).toHaveLength(1);
    const [{ nextStep, idempotencyKey, state } = { nextStep: undefined, idempotencyKey: "", state: "" }] =
      listed.actions;
    expect(state).toBe("unknown");
    if (!nextStep) throw new Error("nothing says what to do");
    const told = await next.call(nextStep.tool, nextStep.arguments);
    expect(told.error, told.text).toBeUndefined();
    expect(told.action).toMatchObject({ idempotencyKey });
    expect(await executions(idempotencyKey)).toBe(1);
    const settled = Object((await next.call("list_actions", {})).structured).actions;
    expect(settled).toMatchObject([{ tool, idempotencyKey, state: "succeeded", resourceId: expect.any(String) }]);
    expect(settled[0]).not.toHaveProperty("nextStep");
  });
});
