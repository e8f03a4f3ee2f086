// Follows every next step and every advice after a lost answer: no call is advised whose outcome cannot change. Each path ends within
// five calls with an outcome, a time to wait, or a question to the user.
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import * as z from "zod/v4";
import { deriveRepeatKey } from "../../src/actions/idempotency-keys.ts";
import { Service } from "../emulator/service.ts";
import {
  createJobBodyForFile,
  createProcessingBody,
  FILE,
  fileId,
  findOneInputOffer,
  isTerminal,
  readJob,
  registerInput,
  submitJob,
} from "../emulator/work.ts";
import { clockForTest, HOUR_MS } from "../support/advanced-clock.ts";
import { emulatorForTest } from "../support/emulator.ts";
import { emulatorEnv, inProcessClientForTest } from "../support/mcp.ts";
import type { CallResult } from "../support/results.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { createBatchArguments, createRunArguments } from "../tools/bench.ts";

const MAX_CALLS = 5;

interface Call {
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/** The call whose answer is lost, the operation that loses it, and the calls that an agent may make next. */
interface Lost extends Call {
  readonly operationId: string;
  readonly others?: readonly Call[];
}

const Step = z.object({ tool: z.string(), arguments: z.record(z.string(), z.unknown()) });

/** "tool {…}" in a sentence. */
const CALL = /\b([a-z]+_[a-z_]+) (\{(?:[^{}]|\{[^{}]*\})*\})/g;

/** The calls that a result advises: its next step, or those in its sentences. `original`: the call whose answer was lost, by its repeat key. */
function advisedCalls(
  { structured, error, text }: CallResult,
  last: Call,
  original: ReadonlyMap<string, Call>,
): readonly Call[] {
  const step = Step.optional().parse(structured?.["nextStep"]);
  if (step) return [{ tool: step.tool, args: step.arguments }];
  const advice = error ? (error.next ?? "") : text;
  const named = [...advice.matchAll(CALL)].map(([, tool = "", args = "{}"]) => ({ tool, args: JSON.parse(args) }));
  const again = [...advice.matchAll(/with idempotencyKey (again-\w+)/g)].map(([, idempotencyKey = ""]) => {
    const { tool, args } = original.get(idempotencyKey) ?? last;
    return { tool, args: { ...args, idempotencyKey } };
  });
  return [...named, ...again];
}

const isQuestion = ({ text }: CallResult): boolean => /Ask the user|Tell the user/.test(text);
const isWait = ({ error, text }: CallResult): boolean =>
  error?.retryAfterSeconds !== undefined || /Call again after .* UTC|call again in \d+ min/.test(text);

async function loseAnswers(arrives: boolean) {
  const emulator = await emulatorForTest({ stageMs: 1, clock: { now: Date.now } });
  const service = new Service(emulator, { now: Date.now, advance: () => undefined });
  const env = { ...emulatorEnv(emulator), MIC_STATE_DIR: join(await folderForTest(), "state") };
  const client = await inProcessClientForTest("v2-modern", { ...env, MIC_WORKSPACE_ID: emulator.workspaceId });
  // Without backoff.
  vi.spyOn(Math, "random").mockReturnValue(0);
  onTestFinished(() => void vi.restoreAllMocks());
  const ended = async (file: number) => {
    const { id } = await submitJob(service, file);
    await expect.poll(async () => isTerminal(await readJob(service, id)), { interval: 5 }).toBe(true);
    return id;
  };
  const [run, batch] = [
    await createRunArguments(service, FILE.succeeds),
    await createBatchArguments(service, [FILE.succeeds, FILE.failsForGood]),
  ];
  const offer = await findOneInputOffer(service);
  const reason = "Again";
  const lost: readonly Lost[] = [
    { tool: "run_job", args: run, operationId: "createMicPublicInput", others: [{ tool: "run_jobs", args: batch }] },
    { tool: "run_job", args: { ...run, idempotencyKey: "own-key-1" }, operationId: "createMicPublicInput" },
    { tool: "run_jobs", args: batch, operationId: "createMicJob" },
    { tool: "submit_job", args: await createJobBodyForFile(service, FILE.succeeds), operationId: "createMicJob" },
    {
      tool: "register_input",
      args: { workspaceId: emulator.workspaceId, inputKind: "M4_FILE", referenceId: fileId(service, FILE.succeeds) },
      operationId: "createMicPublicInput",
    },
    {
      tool: "retry_job",
      args: { jobId: await ended(FILE.failsRetryably), retryMode: "SAFE_RESUME", reason },
      operationId: "retryMicJob",
    },
    {
      tool: "cancel_job",
      args: { jobId: (await submitJob(service, FILE.pauses)).id, reason },
      operationId: "cancelMicJob",
    },
    {
      tool: "request_file_processing",
      args: createProcessingBody(service, offer, (await registerInput(service, FILE.succeeds)).id),
      operationId: "requestMicSharedFileProcessing",
    },
  ];
  return {
    lost,
    client,
    async lose({ tool, args, operationId }: Lost) {
      await service.injectFault({ kind: arrives ? "drop-after" : "drop-before" }, { operationId, times: 20 });
      const result = await client.callTool(tool, { ...args });
      await service.admin("DELETE", "faults");
      return result;
    },
  };
}

const cases = [0, 19, 21, 48].flatMap((hours) => [true, false].map((arrives) => ({ hours, arrives })));

test.for(cases)(
  "$hours h after a lost answer, every advice ends within five calls (the call took effect: $arrives)",
  { timeout: 60_000 },
  async ({ hours, arrives }) => {
    const clock = clockForTest();
    const { lost, client, lose } = await loseAnswers(arrives);
    const original = new Map<string, Call>();

    /** Makes the call and follows its advice. `path`: the calls before, with their results. */
    async function follow(call: Call, path: readonly string[] = []): Promise<void> {
      const result = await client.callTool(call.tool, { ...call.args });
      const shown = [...path, `${call.tool} ${JSON.stringify(call.args)}\n${result.text}`];
      expect(shown.length, shown.join("\n\n")).toBeLessThanOrEqual(MAX_CALLS);
      expect(result.error?.kind, shown.join("\n\n")).not.toBe("internal");
      if (isQuestion(result) || isWait(result)) return;
      const next = advisedCalls(result, call, original);
      // An error that is no outcome must say what to do.
      if (result.error?.sideEffect === "unknown") expect(next, shown.join("\n\n")).not.toEqual([]);
      for (const each of next) await follow(each, shown);
    }

    for (const call of lost) {
      const first = await lose(call);
      if (first.error?.idempotencyKey !== undefined) original.set(deriveRepeatKey(first.error.idempotencyKey), call);
      clock.advance(hours * HOUR_MS);
      for (const next of advisedCalls(first, call, original)) await follow(next, [first.text]);
      for (const next of [call, ...(call.others ?? [])]) await follow(next);
      for (const tool of ["list_actions", "resolve_actions"]) await follow({ tool, args: {} });
    }
  },
);

test("a file whose registration is 21 h old and unknown runs, and the result says that it was registered again", async () => {
  const clock = clockForTest();
  const { lost, client, lose } = await loseAnswers(false);
  const [run] = lost;
  if (!run) throw new Error("no call");
  expect((await lose(run)).error).toMatchObject({ sideEffect: "unknown" });
  clock.advance(21 * HOUR_MS);
  const batch = await client.callTool("run_jobs", { ...run.others?.[0]?.args });
  const note = "was registered again: the outcome of an earlier registration is unknown.";
  expect(batch.structured).toMatchObject({
    results: [{ state: "SUCCEEDED", note: expect.stringContaining(note) }, {}],
  });
  const args = { ...run.args, parameterValues: Object(run.args["parameterValues"]) };
  const again = await client.callTool("run_job", { ...args, idempotencyKey: "once-more-1" });
  expect(again.structured).toMatchObject({ data: { state: "SUCCEEDED" } });
});
