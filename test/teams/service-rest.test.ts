// A rest that the service asked for, as instances know it that share a team's credentials and a database.
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { openPostgres } from "../../src/actions/postgres.ts";
import { getMicJob } from "../../src/contract/endpoints/job-processing.ts";
import { systemTiming, type Timing } from "../../src/service/attempts.ts";
import { createService, type Service } from "../../src/service/call.ts";
import { createTransport } from "../../src/service/transport.ts";
import { createServiceRests, type RestNotices } from "../../src/teams/service-rest.ts";
import { prepareSharedTables } from "../../src/teams/shared-tables.ts";
import { job, micEnveloped } from "../contract/samples.ts";
import { recordedTiming } from "../service/client.ts";
import { type PostgresServer, postgresMissing, startPostgres } from "../support/postgres.ts";
import { answer, type Stub, stubForTest } from "../support/stub.ts";

const found = micEnveloped(job);
const SECONDS = 30;
const resting = answer(429, {}, { "retry-after": String(SECONDS) });

/** All instances of a test hear each other at once. */
function noticeBoard(): RestNotices {
  const listeners: ((channel: string, text: string) => void)[] = [];
  return {
    async send(channel, text) {
      for (const listener of listeners) listener(channel, text);
    },
    on: (wanted, hear) => listeners.push((channel, text) => channel === wanted && hear(text)),
  };
}

const patience = (seconds: number) => ({ signal: new AbortController().signal, timeoutMs: seconds * 1000 });

describe.skipIf(postgresMissing !== undefined)(
  `instances that share a database${postgresMissing === undefined ? "" : ` (skipped: ${postgresMissing})`}`,
  () => {
    let server: PostgresServer;
    beforeAll(async () => {
      server = await startPostgres();
    }, 60_000);
    afterAll(() => server.stop());

    async function instance(url: string, stub: Stub, team: string, timing: Timing, notices?: RestNotices) {
      const database = await openPostgres(url);
      await prepareSharedTables(database);
      const transport = createTransport({ proxies: false });
      onTestFinished(async () => {
        await transport.close();
        await database.close().catch(() => undefined);
      });
      const rests = createServiceRests({ database, now: timing.now, ...(notices && { notices }) });
      const service = createService({
        baseUrl: async () => stub.baseUrl,
        tokens: { get: async () => "token", mayHaveEnded: () => false, discard: () => undefined },
        transport,
        timing,
        cooldown: rests.of(team),
      });
      return { service, database };
    }

    const read = (service: Service, { signal, timeoutMs }: ReturnType<typeof patience>) =>
      service.call(
        getMicJob,
        { path: { jobId: "job-1" } },
        { signal, deadlineAt: service.timing.now() + timeoutMs, maxAttempts: 1 },
      );

    test("obey what one of them was told: a call that has no time for it sends nothing and says for how long", async () => {
      const [url, stub] = [await server.database(), await stubForTest()];
      const one = await instance(url, stub, "alpha", systemTiming);
      const two = await instance(url, stub, "alpha", systemTiming);
      stub.expect(resting);
      await expect(read(one.service, patience(5))).rejects.toMatchObject({ facts: { kind: "rate_limited" } });
      for (const { service } of [one, two, two]) {
        const failure = await read(service, patience(5)).catch((error: unknown) => error);
        expect(failure).toMatchObject({
          facts: {
            kind: "rate_limited",
            retryable: true,
            sideEffect: "none",
            message: expect.stringMatching(/^Not sent/),
          },
        });
        expect(failure).toMatchObject({ facts: { retryAfterSeconds: expect.any(Number) } });
      }
      expect(stub.requests).toHaveLength(1);
    });

    test("a call that has the time for it sits it out", async () => {
      const [url, stub] = [await server.database(), await stubForTest()];
      const one = await instance(url, stub, "alpha", systemTiming);
      const slept: number[] = [];
      const two = await instance(url, stub, "alpha", recordedTiming(slept));
      stub.expect(answer(429, {}, { "retry-after": "1" }), answer(200, found));
      await expect(read(one.service, patience(1))).rejects.toMatchObject({ facts: { kind: "rate_limited" } });
      await expect(read(two.service, patience(45))).resolves.toMatchObject({ value: { data: { id: job.id } } });
      expect(Math.max(...slept)).toBeGreaterThan(0);
      expect(Math.max(...slept)).toBeLessThanOrEqual(1_000);
    });

    test("another team is not held up", async () => {
      const [url, stub] = [await server.database(), await stubForTest()];
      const one = await instance(url, stub, "alpha", systemTiming);
      const other = await instance(url, stub, "beta", systemTiming);
      stub.expect(resting, answer(200, found));
      await expect(read(one.service, patience(5))).rejects.toMatchObject({ facts: { kind: "rate_limited" } });
      await expect(read(other.service, patience(5))).resolves.toMatchObject({ value: { data: { id: job.id } } });
    });

    test("who has asked a moment ago hears of it by a notice", async () => {
      const [url, stub] = [await server.database(), await stubForTest()];
      // A clock that stands still: nothing is read again by age.
      const at = Date.now();
      const still: Timing = { ...systemTiming, now: () => at };
      const notices = noticeBoard();
      const one = await instance(url, stub, "alpha", still, notices);
      const two = await instance(url, stub, "alpha", still, notices);
      stub.expect(answer(200, found), resting);
      await read(two.service, patience(5));
      await expect(read(one.service, patience(5))).rejects.toMatchObject({ facts: { kind: "rate_limited" } });
      await expect(read(two.service, patience(5))).rejects.toMatchObject({ facts: { kind: "rate_limited" } });
      expect(stub.requests).toHaveLength(2);
    });

    test("a shorter rest that is asked for later does not end a longer one", async () => {
      const [url, stub] = [await server.database(), await stubForTest()];
      const { database } = await instance(url, stub, "alpha", systemTiming);
      const rests = createServiceRests({ database, now: Date.now });
      await rests.of("alpha").record(60_000);
      await createServiceRests({ database, now: Date.now }).of("alpha").record(1_000);
      const left = await createServiceRests({ database, now: Date.now }).of("alpha").leftMs();
      expect(left).toBeGreaterThan(30_000);
    });

    test("calls go on where the database cannot be asked, and the instance that was told rests", async () => {
      const [url, stub] = [await server.database(), await stubForTest()];
      const { service, database } = await instance(url, stub, "alpha", systemTiming);
      await database.query("DROP TABLE service_rest");
      stub.expect(answer(200, found), resting);
      await expect(read(service, patience(5))).resolves.toMatchObject({ value: { data: { id: job.id } } });
      await expect(read(service, patience(5))).rejects.toMatchObject({ facts: { kind: "rate_limited" } });
      await expect(read(service, patience(5))).rejects.toMatchObject({ facts: { kind: "rate_limited" } });
      expect(stub.requests).toHaveLength(2);
    });
  },
);
