// Tests the readiness of an instance whose database is slow or fails.
import { expect, test } from "vitest";
import { get } from "../mcp/http/raw-client.ts";
import { createLatch } from "../support/latch.ts";
import { createDatabaseCheck, deploymentForTest } from "./in-process-deployment.ts";

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
