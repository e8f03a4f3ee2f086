import { beforeAll, describe, expect, test } from "vitest";
import { benchForTest as createBench } from "../actions/bench.ts";
import { createJob, enveloped, job } from "../contract/samples.ts";
import { createExampleData, createRequest, type ExampleData } from "../emulator/example.ts";
import { serviceForFile } from "../emulator/service.ts";
import { createRetryableJob, FILE } from "../emulator/work.ts";
import { fakeClockCommand, fakeClockMissing } from "../support/fake-clock.ts";
import { emulatorEnv } from "../support/mcp.ts";
import { inProcessServerForTest, startServer } from "../support/server.ts";
import { answer, type Stub } from "../support/stub.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { describeUnless } from "../support/unless.ts";
import { describeWithPostgres } from "../teams/services.ts";
import { createRunArguments } from "../tools/bench.ts";

const HOUR_S = 3_600;
const keysOf = (stub: Stub): ReadonlySet<unknown> =>
  new Set(stub.requests.filter(({ method }) => method === "POST").map(({ headers }) => headers["idempotency-key"]));

describe("a call that is repeated after its result was used", () => {
  const service = serviceForFile();
  let world: ExampleData;
  beforeAll(async () => {
    world = await createExampleData(service());
  });

  const exampleOf = async (id: Parameters<typeof createRequest>[1]): Promise<object> => {
    const { path = {}, body = {} } = await createRequest(world, id);
    return { ...Object(path), ...Object(body) };
  };
  type StructuredResult = Readonly<Record<string, unknown>>;
  const idAs = (name: string) => (result: StructuredResult) => ({ [name]: Object(result["data"]).id });
  const retry = { retryMode: "SAFE_RESUME", reason: "was busy" };

  interface Row {
    readonly tool: string;
    readonly operationId: Parameters<typeof createRequest>[1];
    readonly args?: () => Promise<object>;
    /** Whether the call may wait: then it gets `waitSeconds` 0. */
    readonly waits?: true;
    /** The tool that reads what the call has made (default: a job), and its arguments. */
    readonly read?: string;
    readonly about?: (result: StructuredResult) => object;
  }
  const rows: readonly Row[] = [
    { tool: "submit_job", operationId: "createMicJob" },
    { tool: "retry_job", operationId: "retryMicJob" },
    { tool: "register_input", operationId: "createMicPublicInput", read: "get_input", about: idAs("inputId") },
    // The first result is the operation of the job; a repeated call returns the job.
    {
      ...{ tool: "cancel_job", operationId: "cancelMicJob", waits: true },
      about: ({ data }) => ({ jobId: Object(data).originatingResourceId ?? Object(data).id }),
    },
    {
      ...{ tool: "request_file_processing", operationId: "requestMicSharedFileProcessing" },
      ...{ read: "get_file_processing_request", about: idAs("requestId") },
    },
    {
      tool: "run_job",
      operationId: "createMicJob",
      waits: true,
      args: () => createRunArguments(service(), FILE.succeeds),
    },
    {
      ...{ tool: "retry_jobs", operationId: "retryMicJob", waits: true },
      args: async () => ({ ...retry, jobIds: [(await createRetryableJob(service())).id] }),
      about: ({ results }) => ({ jobId: Object(results)[0].newJobId }),
    },
  ];

  /** Repeats the call from the same agent, from another one on the same journal, and in a new session after the first. */
  async function expectExecutedOnce(row: Row, journal: object): Promise<void> {
    const { tool, operationId, args = () => exampleOf(operationId), read = "get_job", about = idAs("jobId") } = row;
    const env = { ...emulatorEnv(service().emulator), MIC_STATE_DIR: await folderForTest(), ...journal };
    const [first, other] = [await inProcessServerForTest(env), await inProcessServerForTest(env)];
    const wanted = { ...(await args()), ...(row.waits && { waitSeconds: 0 }) };
    const before = await service().countEffects(operationId);
    const firstResult = await first.call(tool, wanted);
    expect(firstResult.error, firstResult.text).toBeUndefined();
    expect(await service().countEffects(operationId)).toBe(before + 1);
    const result = about(firstResult.structured ?? {});
    for (const reader of [first, other]) expect((await reader.call(read, result)).error).toBeUndefined();
    for (const server of [first, other, await inProcessServerForTest(env)]) {
      if (server !== first && server !== other) await first.end();
      const again = await server.call(tool, wanted);
      expect(again.error, again.text).toBeUndefined();
      expect(again.text).toMatch(/Not run again|Already retried by an earlier identical call: all/);
      if (firstResult.action)
        expect(again.action).toMatchObject({ idempotencyKey: firstResult.action.idempotencyKey, replayed: true });
      expect(about(again.structured ?? {})).toEqual(result);
    }
    expect(await service().countEffects(operationId)).toBe(before + 1);
  }

  test.each(rows)("$tool runs once on SQLite", (row) => expectExecutedOnce(row, {}));

  describeWithPostgres("with PostgreSQL", (postgres) => {
    test.each(rows)("$tool runs once on PostgreSQL", async (row) =>
      expectExecutedOnce(row, { MIC_JOURNAL_URL: await postgres().createDatabase() }),
    );
  });
});

const createdJob = (id: string) => answer(202, enveloped({ ...job, id }));

describeUnless(fakeClockMissing, "with another clock", () => {
  const callWithClock = async (env: Readonly<Record<string, string>>, seconds: number) => {
    const server = await startServer({ env, under: fakeClockCommand(seconds) });
    const result = await server.call("submit_job", createJob);
    await server.kill();
    return result;
  };

  test("an identical call is a replay after 19 h and a new action after 21 h", async () => {
    const { stub, env } = await createBench();
    stub.expect(createdJob("job-1"), answer(200, enveloped(job)), createdJob("job-2"));
    const first = await callWithClock(env, 0);
    const replay = await callWithClock(env, 19 * HOUR_S);
    expect(replay.action).toEqual({ ...first.action, replayed: true });
    expect(replay.text).toMatch(/^Not run again: an identical call ran 19 h ago/);
    const second = await callWithClock(env, 21 * HOUR_S);
    expect(second.action?.replayed).toBe(false);
    expect(second.text).toMatch(/^A new action: an identical call ran 21 h ago \(job-1\)\./);
    expect(keysOf(stub).size).toBe(2);
  });
});
