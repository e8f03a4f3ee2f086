// Tests the cooldown after a 429 with Retry-After among instances that share a team's credentials and a database.
import { expect, onTestFinished, test } from "vitest";
import { systemTiming, type Timing } from "../../src/api-client/attempts.ts";
import { createApiClient } from "../../src/api-client/client.ts";
import { createTransport } from "../../src/api-client/transport.ts";
import { getMicJob } from "../../src/contract/endpoints/job-processing.ts";
import { COOLDOWN_TABLES, createCooldowns } from "../../src/teams/tenancy/cooldowns.ts";
import { recordedTiming } from "../api-client/client.ts";
import { job, micEnveloped } from "../contract/samples.ts";
import { answer, stubForTest } from "../support/stub.ts";
import { databaseForTest, describeWithPostgres } from "./services.ts";

const found = answer(200, micEnveloped(job));
const rateLimited = answer(429, {}, { "retry-after": "30" });
const FOUND = { value: { data: { id: job.id } } };
const LIMITED = { facts: { kind: "rate_limited" } };
/** The error of a call that is refused before any request is sent. */
const NOT_SENT = {
  message: expect.stringMatching(/^Not sent/),
  facts: { kind: "rate_limited", retryable: true, sideEffect: "none", retryAfterSeconds: expect.any(Number) },
};

describeWithPostgres("instances that share a database", (postgres) => {
  async function setUp() {
    const [url, stub] = [await postgres().createDatabase(), await stubForTest()];
    const database = await databaseForTest(url);
    for (const [name, columns] of Object.entries(COOLDOWN_TABLES))
      await database.query(`CREATE TABLE IF NOT EXISTS ${name} (${columns})`);
    const transport = createTransport({ proxies: false });
    onTestFinished(() => transport.close());
    /** An instance of this team; its calls read a job once, with a time limit in seconds. */
    function createInstance(team: string, timing: Timing = systemTiming) {
      const cooldowns = createCooldowns(database, timing.now);
      const service = createApiClient({
        baseUrl: async () => stub.baseUrl,
        tokens: {
          current: () => "token",
          get: async () => "token",
          mayHaveExpired: () => false,
          discard: () => undefined,
          clockDifferenceMs: () => undefined,
        },
        transport,
        timing,
        cooldown: cooldowns.forTeam(team),
      });
      return (seconds = 5) => {
        const context = { signal: new AbortController().signal, deadlineAt: timing.clockMs() + seconds * 1000 };
        return service.call(getMicJob, { path: { jobId: "job-1" } }, { ...context, maxAttempts: 1 });
      };
    }
    return { stub, database, createInstance };
  }

  test("all instances honor the longest cooldown: a call with enough time waits, any other sends nothing and reports the seconds", async () => {
    const { stub, createInstance, database } = await setUp();
    const sleeps: number[] = [];
    const [one, two] = [createInstance("alpha"), createInstance("alpha")];
    const waiting = createInstance("alpha", recordedTiming(sleeps));
    stub.expect(answer(429, {}, { "retry-after": "1" }), found, rateLimited, found);
    await expect(one(1)).rejects.toMatchObject(LIMITED);
    await expect(waiting(45)).resolves.toMatchObject(FOUND);
    expect(Math.max(...sleeps)).toBeGreaterThan(0);
    expect(Math.max(...sleeps)).toBeLessThanOrEqual(1_000);
    await expect(one()).rejects.toMatchObject(LIMITED);
    // A later, shorter cooldown does not end a longer one.
    const cooldown = () => createCooldowns(database, Date.now).forTeam("alpha");
    await cooldown().record(1_000);
    expect(await cooldown().leftMs()).toBeGreaterThan(10_000);
    for (const read of [one, two, two]) await expect(read()).rejects.toMatchObject(NOT_SENT);
    expect(stub.requests).toHaveLength(3);
    // Another team does not wait.
    await expect(createInstance("beta")()).resolves.toMatchObject(FOUND);
  });

  test("calls continue if the database is unreachable, and the instance that received the 429 honors it", async () => {
    const { stub, createInstance, database } = await setUp();
    const read = createInstance("alpha");
    await database.query("DROP TABLE api_cooldowns");
    stub.expect(found, rateLimited);
    await expect(read()).resolves.toMatchObject(FOUND);
    await expect(read()).rejects.toMatchObject(LIMITED);
    await expect(read()).rejects.toMatchObject(LIMITED);
    expect(stub.requests).toHaveLength(2);
  });
});
