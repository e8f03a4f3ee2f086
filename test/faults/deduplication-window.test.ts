import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Emulator, startEmulator } from "../../src/emulator/index.ts";
import { benchForTest as createBench } from "../actions/bench.ts";
import { createJob, enveloped, job } from "../contract/samples.ts";
import { createExampleData, createRequest, type ExampleData } from "../emulator/example.ts";
import { Service } from "../emulator/service.ts";
import { createRetryableJob, FILE } from "../emulator/work.ts";
import { createManualClock } from "../support/emulator.ts";
import { fakeClockCommand, fakeClockMissing } from "../support/fake-clock.ts";
import { emulatorEnv } from "../support/mcp.ts";
import { inProcessServerForTest, startServer } from "../support/server.ts";
import { answer, type Stub } from "../support/stub.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { describeUnless } from "../support/unless.ts";
import { describeWithPostgres } from "../teams/services.ts";
import { runArguments } from "./run-arguments.ts";

const HOUR_S = 3_600;
const keysOf = (stub: Stub): ReadonlySet<unknown> =>
  new Set(stub.requests.filter(({ method }) => method === "POST").map(({ headers }) => headers["idempotency-key"]));

describe("a call that is repeated after its result was used", () => {
  let service: Service;
  let emulator: Emulator;
  let world: ExampleData;
  beforeAll(async () => {
    const clock = createManualClock();
    emulator = await startEmulator({ clock });
    service = new Service(emulator, clock);
    world = await createExampleData(service);
  });
  afterAll(() => emulator.close());

  const exampleOf = async (id: Parameters<typeof createRequest>[1]): Promise<object> => {
    const { path = {}, body = {} } = await createRequest(world, id);
    return { ...Object(path), ...Object(body) };
  };
  type StructuredResult = Readonly<Record<string, unknown>>;
  const jobIdOf = ({ data }: StructuredResult) => ({ jobId: Object(data).id });

  const rows: readonly [
    tool: string,
    operationId: string,
    args: () => Promise<object>,
    read: string,
    about: (result: StructuredResult) => object,
  ][] = [
    ["submit_job", "createMicJob", () => exampleOf("createMicJob"), "get_job", jobIdOf],
    ["retry_job", "retryMicJob", () => exampleOf("retryMicJob"), "get_job", jobIdOf],
    [
      "register_input",
      "createMicPublicInput",
      () => exampleOf("createMicPublicInput"),
      "get_input",
      ({ data }) => ({ inputId: Object(data).id }),
    ],
    [
      "cancel_job",
      "cancelMicJob",
      async () => ({ ...(await exampleOf("cancelMicJob")), waitSeconds: 0 }),
      "get_job",
      // The first result is the operation of the job; a repeated call returns the job.
      ({ data }) => ({ jobId: Object(data).originatingResourceId ?? Object(data).id }),
    ],
    [
      "request_file_processing",
      "requestMicSharedFileProcessing",
      () => exampleOf("requestMicSharedFileProcessing"),
      "get_file_processing_request",
      ({ data }) => ({ requestId: Object(data).id }),
    ],
    ["run_job", "createMicJob", () => runArguments(service, FILE.succeeds), "get_job", jobIdOf],
    [
      "retry_jobs",
      "retryMicJob",
      async () => ({ jobIds: [(await createRetryableJob(service)).id], retryMode: "SAFE_RESUME", reason: "was busy" }),
      "get_job",
      ({ results }) => ({ jobId: Object(results)[0].newJobId }),
    ],
  ];

  /**
   * Repeats the call from the same agent, from another agent on the same journal, and in a new session after the first has
   * ended.
   */
  async function expectExecutedOnce(
    [tool, operationId, args, read, about]: (typeof rows)[number],
    journal: object,
  ): Promise<void> {
    const env = { ...emulatorEnv(emulator), MIC_STATE_DIR: await folderForTest(), ...journal };
    const [first, other] = [await inProcessServerForTest(env), await inProcessServerForTest(env)];
    const wanted = { ...(await args()), ...(tool.startsWith("run") || tool.endsWith("s") ? { waitSeconds: 0 } : {}) };
    const before = await service.countEffects(operationId);
    const firstResult = await first.call(tool, wanted);
    expect(firstResult.error, firstResult.text).toBeUndefined();
    expect(await service.countEffects(operationId)).toBe(before + 1);
    const result = about(firstResult.structured ?? {});
    for (const reader of [first, other]) expect((await reader.call(read, result)).error).toBeUndefined();
    for (const server of [first, other, await inProcessServerForTest(env)]) {
      if (server !== first && server !== other) await first.end();
      const again = await server.call(tool, wanted);
      expect(again.error, again.text).toBeUndefined();
      expect(again.text).toMatch(/Not run again|Retried before by an identical call: all/);
      if (firstResult.action)
        expect(again.action).toMatchObject({ idempotencyKey: firstResult.action.idempotencyKey, replayed: true });
      expect(about(again.structured ?? {})).toEqual(result);
    }
    expect(await service.countEffects(operationId)).toBe(before + 1);
  }

  test.each(rows)("%s runs once on SQLite", (...row) => expectExecutedOnce(row, {}));

  describeWithPostgres("with PostgreSQL", (postgres) => {
    test.each(rows)("%s runs once on PostgreSQL", async (...row) =>
      expectExecutedOnce(row, { MIC_JOURNAL_URL: await postgres().createDatabase() }),
    );
  });
});

const createdJob = (id: string) => answer(202, enveloped({ ...job, id }));

describeUnless(fakeClockMissing, "with another clock", () => {
  /** Makes the call from a process whose clock is ahead by `seconds`. */
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
