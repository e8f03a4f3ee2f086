// Tests usage and capabilities, docs/contract.md, 2.2 and 8.
import { expect, test } from "vitest";
import { operations } from "../operations.ts";
import { expectProblem } from "./http.ts";
import { type Service, serviceForTest } from "./service.ts";
import { FILE, registerInput, runJobToEnd, submitJob } from "./work.ts";

async function readUsage(service: Service, window = "ENTITLEMENT") {
  const { data } = await service.ok(operations.getMicPublicUsage, {
    query: { workspaceId: service.emulator.workspaceId, window },
  });
  return data;
}
const readCapabilities = async (service: Service) =>
  (await service.ok(operations.getMicPublicCapabilities, { query: { workspaceId: service.emulator.workspaceId } }))
    .data;

const readUsedByMetric = async (service: Service, window?: string) =>
  new Map((await readUsage(service, window)).buckets.map(({ metric, used }) => [metric, BigInt(used)]));

/** The metrics that increased, and by how much. */
async function usageGrowth(service: Service, work: () => Promise<unknown>, window?: string) {
  const before = await readUsedByMetric(service, window);
  await work();
  return [...(await readUsedByMetric(service, window))].flatMap(([metric, used]) => {
    const increase = used - (before.get(metric) ?? 0n);
    return increase === 0n ? [] : [{ metric, more: increase }];
  });
}

test("usage by MONTH is refused [4.2/usage-window, 2.2/usage-window]", async () => {
  const service = await serviceForTest();
  const query = { workspaceId: service.emulator.workspaceId, window: "MONTH" };
  const answer = await service.call(operations.getMicPublicUsage, { query });
  expect(JSON.stringify(expectProblem(answer, 422))).toContain("MONTH");
});

test("the granted amount is the sum of used, reserved and remaining [8/workspace-limits-as-data]", async () => {
  const service = await serviceForTest();
  for (const window of ["DAY", "ENTITLEMENT"]) {
    const { buckets, observedAt, activatedAt, expiresAt, ...usage } = await readUsage(service, window);
    expect(usage.window).toBe(window);
    expect(Date.parse(observedAt)).toBe(service.clock.now());
    expect(Date.parse(activatedAt)).toBeLessThan(Date.parse(expiresAt));
    expect(buckets.length).toBeGreaterThan(0);
    expect(new Set(buckets.map(({ metric }) => metric)).size).toBe(buckets.length);
    for (const { granted, used, reserved, remaining } of buckets)
      expect(BigInt(used) + BigInt(reserved) + BigInt(remaining)).toBe(BigInt(granted));
  }
  for (const { granted, used, reserved, remaining } of (await readCapabilities(service)).limits)
    expect(used + reserved + remaining).toBe(granted);
});

test("inputs and jobs increase the usage in both windows", async () => {
  const service = await serviceForTest();
  for (const window of ["DAY", "ENTITLEMENT"]) {
    const byInput = await usageGrowth(service, () => registerInput(service, FILE.succeeds), window);
    expect(byInput.length).toBeGreaterThan(0);
    const byJob = await usageGrowth(service, () => runJobToEnd(service, FILE.succeeds), window);
    expect(byJob.length).toBeGreaterThan(byInput.length);
    expect(byJob.every(({ more: increase }) => increase > 0n)).toBe(true);
  }
});

test("a read, a replay and a refusal do not increase the usage", async () => {
  const service = await serviceForTest();
  const { workspaceId } = service.emulator;
  expect(await usageGrowth(service, () => readCapabilities(service))).toEqual([]);
  const body = { workspaceId, inputKind: "M4_FILE", referenceId: service.emulator.fileIds[0] };
  const parts = { body, key: "usage-key-1" };
  const growthOfFirst = await usageGrowth(service, () => service.call(operations.createMicPublicInput, parts));
  expect(growthOfFirst.length).toBeGreaterThan(0);
  expect(await usageGrowth(service, () => service.call(operations.createMicPublicInput, parts))).toEqual([]);
  const refused = { body: { ...body, referenceId: "" } };
  expect(await usageGrowth(service, () => service.call(operations.createMicPublicInput, refused))).toEqual([]);
});

test("a new day starts a new DAY window, and the ENTITLEMENT window continues", async () => {
  const service = await serviceForTest();
  await submitJob(service, FILE.succeeds);
  const [day, entitlement] = [await readUsedByMetric(service, "DAY"), await readUsedByMetric(service, "ENTITLEMENT")];
  expect([...day.values()].some((used) => used > 0n)).toBe(true);
  const before = await readUsage(service, "DAY");
  service.clock.advance(86_400_000);
  const after = await readUsage(service, "DAY");
  for (const [index, bucket] of after.buckets.entries()) {
    expect(Date.parse(bucket.windowStart)).toBe(Date.parse(before.buckets[index]?.windowEnd ?? ""));
    expect(Date.parse(bucket.windowStart)).toBeLessThanOrEqual(service.clock.now());
    expect(Date.parse(bucket.windowEnd)).toBeGreaterThan(service.clock.now());
  }
  for (const [metric, used] of await readUsedByMetric(service, "ENTITLEMENT"))
    expect(used).toBeGreaterThanOrEqual(entitlement.get(metric) ?? 0n);
  expect([...(await readUsedByMetric(service, "DAY")).values()].some((used) => used > 0n)).toBe(false);
});

test("each capability is enabled or names its prerequisite [8/workspace-limits-as-data, 2.2/capability-max-bytes-and-rows]", async () => {
  const service = await serviceForTest();
  const { capabilities: list, limits, workspaceId } = await readCapabilities(service);
  expect(workspaceId).toBe(service.emulator.workspaceId);
  expect(list.some(({ enabled }) => enabled)).toBe(true);
  for (const { enabled, prerequisite } of list) if (!enabled) expect(prerequisite).not.toBeNull();
  expect(limits.length).toBeGreaterThan(0);
  for (const { windowStart, windowEnd } of limits) expect(Date.parse(windowStart)).toBeLessThan(Date.parse(windowEnd));
});
