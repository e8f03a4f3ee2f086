// Tests list_actions: the order and the counts of the list, and the actions of other clients in the same journal.
import { expect, test } from "vitest";
import { FILE } from "../emulator/work.ts";
import { runInProcess } from "../support/command.ts";
import { inProcessClientForTest } from "../support/mcp.ts";
import { createScene, list, UNRESOLVED } from "./killed-server.ts";

test("an unknown action is listed before 20 newer ones, with the counts of the whole journal", async () => {
  const { killDuring, server, registration, type } = await createScene();
  await killDuring([registration(FILE.succeeds)]);
  const talk = await server();
  const { tool, args } = registration(FILE.failsForGood);
  for (let n = 0; n < 21; n++) await talk.call(tool, { ...args, idempotencyKey: `newer-key-${n}` });
  const { summary, actions, nextStep } = await list(talk);
  expect(actions).toHaveLength(21);
  expect(actions[0]).toMatchObject({ state: "unknown" });
  expect(nextStep?.arguments["idempotencyKey"]).toBe(actions[0]?.idempotencyKey);
  const printed = (await type("actions")).stdout;
  expect(summary).toMatch(/^22 actions: 1 unknown, 21 succeeded\./);
  expect(printed).toContain(summary);
  expect(printed).toContain(`mic-mcp resolve ${actions[0]?.idempotencyKey}`);
});

test.each<readonly [string, Readonly<Record<string, string>>]>([
  ["client id", { MIC_CLIENT_ID: "another-client" }],
  ["base URL", { MIC_BASE_URL: "http://127.0.0.1:9" }],
])(
  "instructions, list_actions and resolve_actions count the unresolved actions of another %s, and show nothing else of them",
  async (_what, changes) => {
    const { killDuring, env, connect, registration } = await createScene();
    await killDuring([registration(FILE.succeeds)]);
    const sentence = "1 unresolved action belongs to another client id or base URL: tell the user.";
    expect((await connect()).instructions()).not.toContain(sentence);
    const other = await inProcessClientForTest("v2-legacy", { ...env, ...changes });
    expect(other.instructions()).toContain(sentence);
    expect(other.instructions()).not.toContain(UNRESOLVED);
    const listed = await other.callTool("list_actions");
    expect(listed.structured).toEqual({ summary: `0 actions. ${sentence}`, actions: [] });
    const { stdout } = await runInProcess(["actions"], { env: { ...env, ...changes } });
    expect(stdout).toBe("0 actions. 1 unresolved action belongs to another client id or base URL.\n");
    const resolved = await other.callTool("resolve_actions");
    expect(resolved.structured).toEqual({ summary: `No action is unresolved. ${sentence}`, results: [] });
  },
);
