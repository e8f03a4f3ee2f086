// Tests usage and capabilities, docs/contract.md, 2.2 and 8.
import { expect } from "vitest";
import { operations } from "../operations.ts";
import { expectProblem } from "./http.ts";
import { type Service, serviceForTest, test } from "./service.ts";
import { FILE, runJobToEnd, submitJob } from "./work.ts";

const readUsage = async (service: Service, window = "ENTITLEMENT") =>
  (await service.ok(operations.getMicPublicUsage, service.inWorkspace({ window }))).data;
const readCapabilities = async (service: Service) =>
  (await service.ok(operations.getMicPublicCapabilities, service.inWorkspace())).data;

const readUsedByMetric = async (service: Service, window?: string) =>
  new Map((await readUsage(service, window)).buckets.map(({ metric, used }) => [metric, BigInt(used)]));

async function usageGrowth(service: Service, work: () => Promise<unknown>, window?: string) {
  const before = await readUsedByMetric(service, window);
  await work();
  const after = await readUsedByMetric(service, window);
  return [...after].map(([metric, used]) => used - (before.get(metric) ?? 0n)).filter((increase) => increase !== 0n);
}

test("usage by MONTH is refused", { tags: ["4.2/usage-window", "2.2/usage-window"] }, async ({ service }) => {
  const answer = await service.call(operations.getMicPublicUsage, service.inWorkspace({ window: "MONTH" }));
  expect(JSON.stringify(expectProblem(answer, 422))).toContain("MONTH");
});

test("the granted amount is the sum of used, reserved and remaining, and a capability is enabled or names its prerequisite", {
  tags: ["8/workspace-limits-as-data"],
}, async ({ service }) => {
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
  const { capabilities, limits } = await readCapabilities(service);
  for (const { granted, used, reserved, remaining } of limits) expect(used + reserved + remaining).toBe(granted);
  expect(capabilities.some(({ enabled }) => enabled)).toBe(true);
  for (const { enabled, prerequisite } of capabilities) if (!enabled) expect(prerequisite).not.toBeNull();
});

test("inputs and jobs increase the usage in both windows, and a read, a replay and a refusal do not", async () => {
  const service = await serviceForTest();
  const referenceId = service.emulator.fileIds[0];
  const body = { workspaceId: service.emulator.workspaceId, inputKind: "M4_FILE", referenceId };
  for (const window of ["DAY", "ENTITLEMENT"]) {
    const register = (change: object, key = `usage-${window}`) =>
      service.call(operations.createMicPublicInput, { body: { ...body, ...change }, key });
    const byInput = await usageGrowth(service, () => register({}), window);
    expect(byInput.length).toBeGreaterThan(0);
    const byJob = await usageGrowth(service, () => runJobToEnd(service, FILE.succeeds), window);
    expect(byJob.length).toBeGreaterThan(byInput.length);
    expect([...byInput, ...byJob].every((increase) => increase > 0n)).toBe(true);
    for (const work of [
      () => readCapabilities(service),
      () => register({}),
      () => register({ referenceId: "" }, "refused-key"),
    ])
      expect(await usageGrowth(service, work, window)).toEqual([]);
  }
});

test("a new day starts a new DAY window, and the ENTITLEMENT window continues", async ({ service }) => {
  await submitJob(service, FILE.succeeds);
  const isAnyUsed = async () => [...(await readUsedByMetric(service, "DAY")).values()].some((used) => used > 0n);
  expect(await isAnyUsed()).toBe(true);
  const entitlement = await readUsedByMetric(service, "ENTITLEMENT");
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
  expect(await isAnyUsed()).toBe(false);
});
