// The commands of a person, on an emulator that counts what it does.
import { expect, onTestFinished } from "vitest";
import * as z from "zod/v4";
import { type Emulator, startEmulator } from "../../src/emulator/index.ts";
import { run, start } from "../mcp/stdio/child.ts";
import { folderForTest } from "../support/home.ts";
import { emulatorEnv } from "../support/mcp.ts";

const Executions = z.array(z.looseObject({ operationId: z.string(), idempotencyKey: z.string(), executions: z.int() }));
const Made = z.looseObject({
  data: z.looseObject({ id: z.string() }),
  action: z.object({ idempotencyKey: z.string(), replayed: z.boolean(), attempts: z.int() }).optional(),
});
const Recipes = z.looseObject({ data: z.array(z.looseObject({ versionId: z.string(), name: z.string() })) });

/** `stageMs`: how long a stage of a job takes. */
export async function personForTest(stageMs = 20) {
  const emulator: Emulator = await startEmulator({ stageMs });
  onTestFinished(() => emulator.close());
  const folder = await folderForTest();
  const env = {
    ...emulatorEnv(emulator),
    MIC_WORKSPACE_ID: emulator.workspaceId,
    MIC_STATE_DIR: `${folder}/state`,
    MIC_DOWNLOAD_DIR: folder,
  };
  const type = (...args: readonly string[]) => run(args, { env });

  /** The answer of a call that goes well. */
  async function made(...args: readonly string[]) {
    const { code, stdout, stderr } = await type("call", ...args, "--output", "json");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    return Made.parse(JSON.parse(stdout));
  }

  return {
    emulator,
    env,
    folder,
    /** `mic-mcp ARGS` to its end; its stdin is no terminal. */
    type,
    made,
    /** The same, not waited for. */
    begin: (...args: readonly string[]) => start(args, { env }),
    async admin(path: string, body: object): Promise<void> {
      const answer = await fetch(`${emulator.baseUrl}/__emulator/${path}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      expect(answer.ok).toBe(true);
    },
    /** How often the service has done this operation, by key. */
    async executions(operationId: string): Promise<ReadonlyMap<string, number>> {
      const answer = await fetch(`${emulator.baseUrl}/__emulator/executions`);
      const all = Executions.parse(await answer.json()).filter((each) => each.operationId === operationId);
      return new Map(all.map(({ idempotencyKey, executions }) => [idempotencyKey, executions]));
    },
    /** The words that submit a job on this file. */
    async submission(file: number): Promise<readonly string[]> {
      const input = await made("register_input", "inputKind=M4_FILE", `referenceId=${emulator.fileIds[file]}`);
      const { data } = Recipes.parse(JSON.parse((await type("call", "list_recipes", "--output", "json")).stdout));
      const recipe = data.find(({ name }) => name.startsWith("Normalize"));
      return [
        "submit_job",
        `recipeVersionId=${recipe?.versionId}`,
        `inputBindings=${JSON.stringify([{ port: "divisions", inputId: input.data.id }])}`,
        'parameterValues={"level":"DISTRICT","vintage":"2026-09-30"}',
      ];
    },
  };
}
