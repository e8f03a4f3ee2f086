// Tests tools of several actions that are killed while they run: the same call on the next server continues.
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import * as z from "zod/v4";
import { type Service, serviceForTest } from "../emulator/service.ts";
import { createJobBodyForFile, FILE } from "../emulator/work.ts";
import { pollOptions } from "../mcp/tasks/fixtures.ts";
import { operations } from "../operations.ts";
import { rowOfEachJob } from "../support/job-rows.ts";
import { emulatorEnv } from "../support/mcp.ts";
import { inProcessServerForTest, type Server, startServer } from "../support/server.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { isThorough } from "../support/thorough.ts";
import { createRunArguments } from "../tools/bench.ts";

async function createBench() {
  const service = await serviceForTest();
  const env = { ...emulatorEnv(service.emulator), MIC_STATE_DIR: await folderForTest() };
  return { service, startProcess: () => startServer({ env }), startInProcess: () => inProcessServerForTest(env) };
}

/** Kills the server during this call as soon as `reached` returns at least `times`. */
async function killDuring(server: Server, tool: string, args: object, reached: () => Promise<number>, times = 1) {
  server.send(tool, args, 1);
  await expect.poll(reached, pollOptions).toBeGreaterThanOrEqual(times);
  await server.kill();
}

const REGISTER = "createMicPublicInput";
const SUBMIT = "createMicJob";
const hang = (operationId: string, afterCommit: boolean) => (service: Service) =>
  service.injectFault({ kind: "hang", afterCommit }, { operationId });
const countArrived = (operationId: string) => async (service: Service) => (await service.requests(operationId)).length;
const countExecuted = (operationId: string) => (service: Service) => service.countEffects(operationId);

const Rows = z.preprocess(
  rowOfEachJob,
  z.array(z.looseObject({ jobId: z.string(), outcome: z.string(), newJobId: z.string().optional() })),
);
const Retries = z.object({ results: Rows, notSent: z.object({ count: z.number() }).optional() });

test("each of 50 jobs is retried once although the server is killed in the middle", async () => {
  const { service, startProcess, startInProcess } = await createBench();
  const body = await createJobBodyForFile(service, FILE.failsRetryably);
  const jobIds: string[] = [];
  for (let made = 0; made < 50; made += 1) jobIds.push((await service.ok(operations.createMicJob, { body })).data.id);
  service.clock.advance(60_000);
  const args = { jobIds, retryMode: "SAFE_RESUME", reason: "Once each", waitSeconds: 0 };
  const retries = () => service.countEffects("retryMicJob");

  const first = await startProcess();
  // Slow enough that the kill finds some retries done, some in flight, some with lost answers, and some not started.
  await service.injectFault({ kind: "delay", delayMs: 100 }, { operationId: "retryMicJob", times: 16 });
  await service.injectFault({ kind: "hang", afterCommit: true }, { operationId: "retryMicJob", times: 8 });
  await killDuring(first, "retry_jobs", { ...args, waitSeconds: 45 }, retries, 18);
  expect(first.received(1)).toBeUndefined();
  expect(await retries()).toBeLessThan(50);
  await service.admin("DELETE", "faults");

  const server = await startInProcess();
  const retryAll = async () => {
    const result = await server.call("retry_jobs", { ...args, reason: "Worded otherwise" });
    const { results, notSent } = Retries.parse(result.structured);
    return { rows: results, notSent: notSent?.count ?? 0 };
  };
  // With waitSeconds 0, the call stops sending after 5 s; the same call then continues.
  let { rows, notSent } = await retryAll();
  for (let call = 1; call < 10 && notSent > 0; call++) ({ rows, notSent } = await retryAll());
  expect(rows.map(({ jobId }) => jobId)).toEqual(jobIds);
  expect(new Set(rows.map(({ outcome }) => outcome))).toEqual(new Set(["retried"]));
  expect(new Set(rows.map(({ newJobId }) => newJobId)).size).toBe(50);
  expect(await retries()).toBe(50);
  expect(new Set((await service.requests("retryMicJob")).map(({ idempotencyKey }) => idempotencyKey)).size).toBe(50);
});

test("one call has at most four requests in flight", async () => {
  const { service, startInProcess } = await createBench();
  const jobIds = Array.from({ length: 20 }, (_, at) => `micjob_${at}`);
  for (const [tool, operationId, args] of [
    ["wait_for_jobs", "getMicJob", { jobIds }],
    ["retry_jobs", "retryMicJob", { jobIds, retryMode: "SAFE_RESUME", reason: "All at once" }],
  ] as const) {
    await service.injectFault({ kind: "hang" }, { operationId, times: 20 });
    const server = await startInProcess();
    server.send(tool, args, 1);
    await expect.poll(() => countArrived(operationId)(service), pollOptions).toBe(4);
    // None of the four is answered, so any further request would have time to arrive.
    await sleep(300);
    expect(await countArrived(operationId)(service), tool).toBe(4);
    server.cancel(1);
    await service.admin("DELETE", "faults");
  }
});

const moments: readonly {
  readonly name: string;
  readonly file?: number;
  readonly prepare?: (service: Service) => Promise<unknown>;
  readonly reached: (service: Service) => Promise<number>;
  /** Also tried with an explicit key. After a lost answer only the key identifies the same call. */
  readonly withKey?: true;
}[] = [
  {
    name: "during the registration, before the API executes it",
    prepare: hang(REGISTER, false),
    reached: countArrived(REGISTER),
  },
  {
    ...{ name: "during the registration, before the API answers", withKey: true },
    ...{ prepare: hang(REGISTER, true), reached: countExecuted(REGISTER) },
  },
  { name: "during the wait for the scan", file: FILE.waitsForScan, reached: countArrived("getMicPublicInput") },
  {
    name: "during the submission, before the API executes it",
    prepare: hang(SUBMIT, false),
    reached: countArrived(SUBMIT),
  },
  {
    ...{ name: "during the submission, before the API answers", withKey: true },
    ...{ prepare: hang(SUBMIT, true), reached: countExecuted(SUBMIT) },
  },
  { name: "during the wait for the job", reached: countArrived("getMicJob") },
];

for (const { name, file = FILE.succeeds, prepare, reached, withKey = isThorough } of moments)
  for (const own of withKey ? [{}, { idempotencyKey: "a key of the agent's own" }] : [{}])
    test(`the same call completes a run_job${"idempotencyKey" in own ? " with a key" : ""} that was killed ${name}`, async () => {
      const { service, startProcess, startInProcess } = await createBench();
      const args = { ...(await createRunArguments(service, file)), ...own };
      const first = await startProcess();
      await prepare?.(service);
      await killDuring(first, "run_job", args, () => reached(service));
      await service.admin("DELETE", "faults");
      service.clock.advance(60_000);

      const second = await startInProcess();
      const result = await second.call("run_job", { ...args, waitSeconds: 0 });
      expect(result.error, result.text).toBeUndefined();
      const { id } = z.looseObject({ id: z.string().startsWith("micjob_") }).parse(result.structured?.["data"]);
      expect([await service.countEffects(REGISTER), await service.countEffects(SUBMIT)]).toEqual([1, 1]);
      // No action remains that needs to be resolved.
      for (const state of ["in_progress", "unknown"])
        expect((await second.call("list_actions", { state })).structured).toMatchObject({ actions: [] });
      expect((await second.call("get_job", { jobId: id })).error).toBeUndefined();
    });

test("simultaneous identical run_job calls in two processes run once", async () => {
  const { service, startProcess, startInProcess } = await createBench();
  const args = { ...(await createRunArguments(service, FILE.succeeds)), waitSeconds: 0 };
  await service.injectFault({ kind: "delay", delayMs: 300 }, { operationId: REGISTER });
  await service.injectFault({ kind: "delay", delayMs: 300 }, { operationId: SUBMIT });
  const servers = await Promise.all([startProcess(), startInProcess()]);
  for (const server of servers) await server.call("list_actions", {});
  const answers = await Promise.all(servers.map((server) => server.call("run_job", args)));
  const ids = answers.map(({ structured, text }) => Object(structured?.["data"]).id ?? text);
  expect(new Set(ids).size, ids.join("\n")).toBe(1);
  expect([await service.countEffects(REGISTER), await service.countEffects(SUBMIT)]).toEqual([1, 1]);
});
