// Tests that list_actions and its nextStep suffice to complete what a killed process left, for each of the five actions.
import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod/v4";
import { type Emulator, startEmulator } from "../../src/emulator/index.ts";
import { createExampleData, createRequest, type ExampleData } from "../emulator/example.ts";
import { Service } from "../emulator/service.ts";
import { createManualClock } from "../support/emulator.ts";
import { emulatorEnv } from "../support/mcp.ts";
import { inProcessServerForTest, startServer } from "../support/server.ts";
import { folderForTest } from "../support/temporary-folder.ts";

const Listed = z.object({
  actions: z.array(
    z.looseObject({
      tool: z.string(),
      idempotencyKey: z.string(),
      state: z.string(),
      nextStep: z
        .object({ tool: z.string(), arguments: z.record(z.string(), z.unknown()), why: z.string() })
        .optional(),
    }),
  ),
});
const Resolved = z.object({ results: z.array(z.looseObject({ resourceId: z.string().optional() })) });

const ACTIONS = [
  ["register_input", "createMicPublicInput"],
  ["submit_job", "createMicJob"],
  ["retry_job", "retryMicJob"],
  ["request_file_processing", "requestMicSharedFileProcessing"],
  // This is the last example, because time passes and the job ends while the other examples are created.
  ["cancel_job", "cancelMicJob"],
] as const;

let emulator: Emulator;
let service: Service;
let world: ExampleData;
beforeAll(async () => {
  const clock = createManualClock();
  emulator = await startEmulator({ clock });
  service = new Service(emulator, clock);
  world = await createExampleData(service);
});
afterAll(() => emulator.close());

test.each([
  ["after the service has done it", true],
  ["before the service has done it", false],
])("each of the five actions, killed %s, is resolved by the next process", async (_when, afterCommit) => {
  const env = { ...emulatorEnv(emulator), MIC_STATE_DIR: await folderForTest() };
  const server = await startServer({ env });
  const calls: { tool: string; operationId: (typeof ACTIONS)[number][1]; args: object }[] = [];
  for (const [tool, operationId] of ACTIONS) {
    const { path = {}, body = {} } = await createRequest(world, operationId);
    calls.push({ tool, operationId, args: { ...Object(path), ...Object(body) } });
  }
  for (const [id, { tool, operationId, args }] of calls.entries()) {
    const countReceived = async () => (await service.requests(operationId)).length;
    const before = await countReceived();
    await service.injectFault({ kind: "hang", afterCommit }, { operationId });
    server.send(tool, args, id);
    await expect.poll(countReceived, { interval: 5, timeout: 20_000 }).toBeGreaterThan(before);
  }
  await server.kill();

  const next = await inProcessServerForTest(env);
  const { actions } = Listed.parse((await next.call("list_actions", {})).structured);
  expect(actions.map(({ tool }) => tool)).toEqual(ACTIONS.map(([tool]) => tool));
  const resourceIds = new Map<string, string | undefined>();
  for (const { tool, idempotencyKey, state, nextStep } of actions) {
    expect(state, tool).toBe("unknown");
    expect(nextStep).toMatchObject({ tool: "resolve_actions", arguments: { idempotencyKey } });
    const result = await next.call(nextStep?.tool ?? "", nextStep?.arguments ?? {});
    expect(result.error, result.text).toBeUndefined();
    expect(result.structured).toMatchObject({ results: [{ tool, idempotencyKey, outcome: "resolved" }] });
    resourceIds.set(idempotencyKey, Resolved.parse(result.structured).results[0]?.resourceId);
    expect(await service.countExecutions(idempotencyKey), tool).toBe(1);
  }
  const resolvedActions = Object((await next.call("list_actions", {})).structured).actions;
  // Latest first: the one that was resolved last.
  for (const [at, { tool, idempotencyKey }] of actions.reverse().entries()) {
    expect(resolvedActions[at]).toMatchObject({
      tool,
      idempotencyKey,
      state: "succeeded",
      resourceId: expect.any(String),
    });
    expect(resolvedActions[at].resourceId).toBe(resourceIds.get(idempotencyKey));
    expect(resolvedActions[at]).not.toHaveProperty("nextStep");
  }
});
