// Tests the shutdown of an instance: it first reports not ready and keeps serving, and then drains.
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { get, resultOf } from "../mcp/http/raw-client.ts";
import { createLatch } from "../support/latch.ts";
import { createDatabaseCheck, deploymentForTest } from "./in-process-deployment.ts";

const LONG_DELAY_MS = 600_000;

test("an instance in its drain delay is not ready but healthy, and closes each connection after its response", async () => {
  const { url, connectAs, drain, release, calls } = await deploymentForTest();
  const alice = await connectAs();
  const probeStatuses = async () =>
    await Promise.all(["/readyz", "/healthz"].map(async (path) => (await get(new URL(path, url).href).answer).status));
  expect(await probeStatuses()).toEqual([200, 200]);
  const now = new AbortController();
  const drained = drain(LONG_DELAY_MS, now.signal, LONG_DELAY_MS);
  expect(await probeStatuses()).toEqual([503, 200]);
  const response = await alice.call(1, "look", {}).answer;
  expect([response.status, response.headers.connection]).toEqual([200, "close"]);
  const inFlight = alice.call(2, "wait", {});
  await expect.poll(() => calls.length).toBe(2);
  release();
  await resultOf(inFlight, 2);
  now.abort();
  await drained;
  await expect(get(url).answer).rejects.toThrow();
});

test("an instance refuses new calls after the drain delay, and calls in flight end normally", async () => {
  const { connectAs, drain, release, calls } = await deploymentForTest();
  const alice = await connectAs();
  const inFlight = alice.call(1, "wait", {});
  await expect.poll(() => calls.length).toBe(1);
  const drained = drain(LONG_DELAY_MS, new AbortController().signal, 1);
  await sleep(50);
  expect((await alice.call(2, "look", {}).answer).status).toBe(503);
  release();
  await resultOf(inFlight, 1);
  await drained;
  expect(calls).toHaveLength(1);
});

test("/readyz lists each check: a slow database is degraded and ready, and one that fails is not ready with the reason", async () => {
  let nowMs = 0;
  const { released, release } = createLatch();
  let isSlow = false;
  let error: Error | undefined;
  const databaseCheck = createDatabaseCheck(
    async () => {
      if (isSlow) await released;
      if (error) throw error;
      return { unknown: 3 };
    },
    () => nowMs,
  );
  const { url } = await deploymentForTest({ databaseCheck });
  const probe = async () => {
    const { status, body } = await get(new URL("/readyz", url).href).answer;
    return { ...JSON.parse(body), http: status };
  };
  expect(await probe()).toMatchObject({
    status: "ok",
    checks: { database: { status: "ok", unknown: 3 }, identityProvider: { status: "ok" } },
  });
  isSlow = true;
  nowMs += 20_000;
  const degraded = { http: 200, status: "degraded" };
  expect(await probe()).toMatchObject({ ...degraded, checks: { database: { status: "degraded", reason: "slow" } } });
  nowMs += 1_600;
  release();
  await expect.poll(probe).toMatchObject({ ...degraded, checks: { database: { ms: 1_600, reason: "slow" } } });
  error = new Error("no replica confirms writes: set synchronous_standby_names");
  nowMs += 20_000;
  const failed = { status: "failed", reason: expect.stringContaining("synchronous_standby_names") };
  await expect.poll(probe).toMatchObject({ http: 503, status: "not ready", checks: { database: failed } });
});
