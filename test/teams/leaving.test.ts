// How an instance leaves: first it says so while it serves as before, so that the balancer sends its requests elsewhere; then it drains.
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { get, modernSpeaker, resultOf } from "../mcp/http/raw.ts";
import { deploymentForTest } from "./bench.ts";

const LONG_MS = 600_000;

test("a lame duck is not ready and well, serves what comes on a connection that ends with it, and drains then", async () => {
  const { url, provider, resource, drain, release, calls } = await deploymentForTest();
  const authorization = `Bearer ${await provider.token(resource)}`;
  const alice = modernSpeaker(url, {}, { authorization });
  const statusAt = async (path: string) => (await get(new URL(path, url).href).answer).status;
  expect([await statusAt("/readyz"), await statusAt("/healthz")]).toEqual([200, 200]);
  const now = new AbortController();
  const drained = drain(LONG_MS, now.signal, LONG_MS);
  expect([await statusAt("/readyz"), await statusAt("/healthz")]).toEqual([503, 200]);
  const served = await alice.call(1, "look", {}).answer;
  expect([served.status, served.headers.connection]).toEqual([200, "close"]);
  const underway = alice.call(2, "wait", {});
  await expect.poll(() => calls.length).toBe(2);
  release();
  await resultOf(underway, 2);
  now.abort();
  await drained;
  await expect(get(url).answer).rejects.toThrow();
});

test("when the delay is over nothing new begins, and what is under way ends by itself", async () => {
  const { url, provider, resource, drain, release, calls } = await deploymentForTest();
  const authorization = `Bearer ${await provider.token(resource)}`;
  const alice = modernSpeaker(url, {}, { authorization });
  const underway = alice.call(1, "wait", {});
  await expect.poll(() => calls.length).toBe(1);
  const drained = drain(LONG_MS, new AbortController().signal, 1);
  await sleep(50);
  expect((await alice.call(2, "look", {}).answer).status).toBe(503);
  release();
  await resultOf(underway, 1);
  await drained;
  expect(calls).toHaveLength(1);
});

test("readiness is what calls depend on: the reason is told, and calls go on", async () => {
  const { url } = await deploymentForTest({
    readiness: () => Promise.reject(new Error("no replica confirms writes: set synchronous_standby_names")),
  });
  const { status, body } = await get(new URL("/readyz", url).href).answer;
  expect([status, body]).toEqual([503, expect.stringContaining("synchronous_standby_names")]);
});
