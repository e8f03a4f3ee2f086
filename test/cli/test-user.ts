// Runs a user's commands against an emulator that counts executions. Resources that a command needs are created over HTTP.
import { expect, onTestFinished } from "vitest";
import * as z from "zod/v4";
import { type EmulatorOptions, startEmulator } from "../../src/emulator/index.ts";
import { Service } from "../emulator/service.ts";
import { createJobBodyForFile, FILE, submitJob } from "../emulator/work.ts";
import { start } from "../mcp/stdio/child.ts";
import { runInProcess } from "../support/command.ts";
import { emulatorEnv } from "../support/mcp.ts";
import { folderForTest } from "../support/temporary-folder.ts";

const Executions = z.array(z.looseObject({ operationId: z.string(), idempotencyKey: z.string(), executions: z.int() }));
const CallOutput = z.looseObject({
  data: z.looseObject({ id: z.string() }),
  action: z.object({ idempotencyKey: z.string(), replayed: z.boolean() }).optional(),
});

/** The wall clock, which cannot be advanced. */
const clock = { now: Date.now, advance: () => undefined };

/**
 * Starts an emulator and returns a user of it. `stageMs`: duration of a job's stage in milliseconds (default 20 ms). `emulatorClock`: the
 * emulator's clock (default: the system clock). `scopes`: the scopes that it grants (default: all).
 */
export async function userForTest(
  stageMs = 20,
  emulatorClock?: EmulatorOptions["clock"],
  scopes?: EmulatorOptions["scopes"],
) {
  const emulator = await startEmulator({ stageMs, clock: emulatorClock, scopes });
  onTestFinished(() => emulator.close());
  const service = new Service(emulator, clock);
  const folder = await folderForTest();
  const env = {
    ...emulatorEnv(emulator),
    MIC_WORKSPACE_ID: emulator.workspaceId,
    MIC_STATE_DIR: `${folder}/state`,
    MIC_DOWNLOAD_DIR: folder,
  };
  const runCommand = (...args: readonly string[]) => runInProcess(args, { env });
  async function executions(operationId: string): Promise<ReadonlyMap<string, number>> {
    const all = Executions.parse(await service.admin("GET", "executions"));
    const own = all.filter((each) => each.operationId === operationId);
    return new Map(own.map((each) => [each.idempotencyKey, each.executions]));
  }

  return {
    service,
    env,
    /** Runs `mic-mcp ARGS` until it ends; its stdin is not a terminal. */
    type: runCommand,
    /** Starts the command without waiting for its exit. */
    startCommand: (...args: readonly string[]) => start(args, { env }),
    async callSuccessfully(...args: readonly string[]) {
      const { code, stdout, stderr } = await runCommand("call", ...args, "--json");
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      return CallOutput.parse(JSON.parse(stdout));
    },
    /** Number of executions of this operation, by key. */
    executions,
    /** Key of the first execution of this operation. */
    keyOf: async (operationId: string): Promise<string> => [...(await executions(operationId)).keys()][0] ?? "",
    registration: (file: number): readonly string[] => [
      "register_input",
      "inputKind=M4_FILE",
      `referenceId=${emulator.fileIds[file]}`,
    ],
    async submission(file: number): Promise<readonly string[]> {
      const { recipeVersionId, inputBindings, parameterValues } = await createJobBodyForFile(service, file);
      const values = { inputBindings, parameterValues };
      const json = Object.entries(values).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
      return ["submit_job", `recipeVersionId=${recipeVersionId}`, ...json];
    },
    /** Submits a job on this file over HTTP, not as the user, and returns its id. */
    job: async (file: number): Promise<string> => (await submitJob(service, file)).id,
    /** Submits a job that succeeds, waits until it has ended, and returns its id. */
    async finishedJob(): Promise<string> {
      const { id } = await submitJob(service, FILE.succeeds);
      await runCommand("watch", id);
      return id;
    },
    /** Submits a job that fails and may be retried, waits until it has failed, and returns its id. */
    async failedJob(): Promise<string> {
      const { id } = await submitJob(service, FILE.failsRetryably);
      await runCommand("watch", id);
      return id;
    },
  };
}
