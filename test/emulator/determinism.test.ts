// Tests determinism: the same seed and clock give the same ids, resources and outcomes.
import { expect, test } from "vitest";
import { operations } from "../operations.ts";
import { type Service, serviceForTest } from "./service.ts";
import { FILE, listOffers, runJobToEnd, submitJob } from "./work.ts";

const idsAndSecretsOf = ({ emulator }: Service) => ({
  workspaceId: emulator.workspaceId,
  fileIds: emulator.fileIds,
  assetIds: emulator.assetIds,
  inputIds: emulator.inputIds,
  recipeVersionIds: emulator.recipeVersionIds,
});

const jobsOf = async (service: Service) =>
  (await service.ok(operations.listMicJobs, { query: { workspaceId: service.emulator.workspaceId, limit: 100 } })).data;

test("the same seed gives the same data, and the same requests then give the same ids", async () => {
  const [one, other] = [await serviceForTest({ seed: "a seed" }), await serviceForTest({ seed: "a seed" })];
  expect(idsAndSecretsOf(other)).toEqual(idsAndSecretsOf(one));
  expect(await jobsOf(other)).toEqual(await jobsOf(one));
  expect(await listOffers(other)).toEqual(await listOffers(one));
  expect(await submitJob(other, FILE.succeeds)).toEqual(await submitJob(one, FILE.succeeds));
  expect(await runJobToEnd(other, FILE.failsRetryably)).toEqual(await runJobToEnd(one, FILE.failsRetryably));
});

test("another seed gives other ids", async () => {
  const [one, other] = [await serviceForTest({ seed: "a" }), await serviceForTest({ seed: "b" })];
  expect(other.emulator.workspaceId).not.toBe(one.emulator.workspaceId);
  const shared = new Set((await jobsOf(one)).map(({ id }) => id));
  expect((await jobsOf(other)).filter(({ id }) => shared.has(id))).toEqual([]);
});

test("two emulators share no data", async () => {
  const [one, other] = [await serviceForTest({ seed: "x" }), await serviceForTest({ seed: "x" })];
  const { id } = await submitJob(one, FILE.succeeds);
  expect((await jobsOf(other)).map((job) => job.id)).not.toContain(id);
  const token = await one.token(["mic.capabilities:read"]);
  const answer = await other.call(operations.getMicPublicCapabilities, {
    query: { workspaceId: other.emulator.workspaceId },
    headers: { authorization: `Bearer ${token}` },
  });
  expect(answer.status).toBe(401);
});
