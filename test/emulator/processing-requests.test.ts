// Tests requests for permission to process a shared file, docs/contract.md, 1, 2.2, 3 and 4.2.
import { expect, test } from "vitest";
import type { ProcessingRequest } from "../../src/contract/processing-requests.ts";
import { operations } from "../operations.ts";
import { expectProblem, parseJson, valueAt } from "./http.ts";
import { type Service, serviceForTest } from "./service.ts";
import { createJobBody, createProcessingBody, FILE, findOneInputOffer, last, registerInput } from "./work.ts";

async function requestProcessing(
  service: Service,
  change: Readonly<Record<string, unknown>> = {},
): Promise<ProcessingRequest> {
  const [offer, input] = await Promise.all([findOneInputOffer(service), registerInput(service, FILE.succeeds)]);
  const { data } = await service.ok(operations.requestMicSharedFileProcessing, {
    body: { ...createProcessingBody(service, offer, input.id), ...change },
  });
  return data;
}

const read = async (service: Service, requestId: string) =>
  (await service.ok(operations.getMicSharedFileProcessingRequest, { path: { requestId } })).data;

const isDecided = ({ state }: ProcessingRequest) => ["APPROVED", "REJECTED", "REVOKED"].includes(state);

/** All readings until the decision, one second apart. */
async function watchUntilDecided(service: Service, requestId: string): Promise<readonly ProcessingRequest[]> {
  const readings = [await read(service, requestId)];
  for (let second = 0; second < 600 && !isDecided(last(readings)); second += 1) {
    service.clock.advance(1000);
    readings.push(await read(service, requestId));
  }
  return readings;
}

/** Ids of the newest jobs; a job started by a request would be among them. */
const listJobIds = async (service: Service) => {
  const query = { workspaceId: service.emulator.workspaceId, limit: 100 };
  return (await service.ok(operations.listMicJobs, { query })).data.map(({ id }) => id);
};

test("a new processing request is not approved and starts no job [1/permission-reviewed-before-job]", async () => {
  const service = await serviceForTest();
  const before = await listJobIds(service);
  const request = await requestProcessing(service);
  expect(request).toMatchObject({ state: "SUBMITTED", revision: 1, reviewHash: null, reasonCode: null });
  await watchUntilDecided(service, request.id);
  expect(await listJobIds(service)).toEqual(before);
});

test("a processing request is SUBMITTED, REVIEWABLE, then APPROVED, each with a higher revision [3/processing-request-state, 2.2/processing-request-hashes, 2.2/processing-request-reason-code]", async () => {
  const service = await serviceForTest();
  const request = await requestProcessing(service);
  const readings = await watchUntilDecided(service, request.id);
  const states = readings.map(({ state }) => state).filter((state, index, all) => state !== all[index - 1]);
  expect(states).toEqual(["SUBMITTED", "REVIEWABLE", "APPROVED"]);
  readings.slice(1).forEach((after, index) => {
    const before = readings[index];
    if (before === undefined || after.state === before.state) {
      expect(after).toEqual(before);
      return;
    }
    expect(after.revision).toBeGreaterThan(before.revision);
    expect(after.requestHash).toBe(before.requestHash);
    expect(after.expiresAt).toBe(before.expiresAt);
  });
  const approved = last(readings);
  expect(approved.reviewHash).toMatch(/^[0-9a-f]{64}$/);
  expect(approved.reasonCode).toBe("REVIEWED_PROCESSING_PURPOSE");
});

test("a processing request that is not eligible is REJECTED with a reason code [3/processing-request-state, 2.2/processing-request-reason-code]", async () => {
  const service = await serviceForTest();
  const [offer, clean, infected] = await Promise.all([
    findOneInputOffer(service),
    registerInput(service, FILE.succeeds),
    registerInput(service, FILE.quarantined),
  ]);
  const requests = [
    [{ ...createProcessingBody(service, offer, clean.id), purpose: "Marketing to households" }, "PURPOSE_NOT_ALLOWED"],
    [createProcessingBody(service, offer, infected.id), "SOURCE_NOT_ELIGIBLE"],
  ] as const;
  for (const [body, reasonCode] of requests) {
    const { data } = await service.ok(operations.requestMicSharedFileProcessing, { body });
    const finalRequest = last(await watchUntilDecided(service, data.id));
    expect(finalRequest).toMatchObject({ state: "REJECTED", reasonCode });
    expect(finalRequest.reviewHash).toMatch(/^[0-9a-f]{64}$/);
  }
});

test("a permission is REVOKED when it expires [3/processing-request-state]", async () => {
  const service = await serviceForTest();
  const request = await requestProcessing(service);
  const approved = last(await watchUntilDecided(service, request.id));
  expect(approved.state).toBe("APPROVED");
  service.clock.advance(Date.parse(approved.expiresAt) - service.clock.now() - 1);
  expect(await read(service, request.id)).toEqual(approved);
  service.clock.advance(1001);
  const revoked = await read(service, request.id);
  expect(revoked).toMatchObject({ state: "REVOKED", reasonCode: "ACCESS_NO_LONGER_REQUIRED" });
  expect(revoked.revision).toBeGreaterThan(approved.revision);
});

test("a job that needs a permission runs only after it was granted [1/permission-reviewed-before-job]", async () => {
  const service = await serviceForTest();
  const [offer, input] = await Promise.all([findOneInputOffer(service), registerInput(service, FILE.succeeds)]);
  const request = await service.ok(operations.requestMicSharedFileProcessing, {
    body: createProcessingBody(service, offer, input.id),
  });
  const body = createJobBody(service, offer, input.id);
  expectProblem(await service.call(operations.createMicJob, { body }), 403);
  await watchUntilDecided(service, request.data.id);
  expect((await service.call(operations.createMicJob, { body })).status).toBe(202);
});

test("a processing request returns the values it was made with [2.2/processing-request-instants]", async () => {
  const service = await serviceForTest();
  const [offer, input] = await Promise.all([findOneInputOffer(service), registerInput(service, FILE.succeeds)]);
  const expiresAt = new Date(service.clock.now() + 7_200_000).toISOString().replace("Z", "456Z");
  const { data } = await service.ok(operations.requestMicSharedFileProcessing, {
    body: { ...createProcessingBody(service, offer, input.id), expiresAt },
  });
  expect(data).toMatchObject({
    workspaceId: service.emulator.workspaceId,
    inputId: input.id,
    recipeVersionId: offer.recipe.versionId,
    sourceOrigin: "SHARED_FILE_REQUEST",
    expiresAt,
  });
  expect(Date.parse(data.createdAt)).toBe(service.clock.now());
});

test("the hash of a processing request depends on its purpose", async () => {
  const service = await serviceForTest();
  const [offer, input] = await Promise.all([findOneInputOffer(service), registerInput(service, FILE.succeeds)]);
  const body = createProcessingBody(service, offer, input.id);
  const hashes = [];
  for (const purpose of ["One purpose", "Another purpose"])
    hashes.push(
      (await service.ok(operations.requestMicSharedFileProcessing, { body: { ...body, purpose } })).data.requestHash,
    );
  expect(new Set(hashes).size).toBe(2);
});

test("a revision up to 2^63-1 is sent as an exact integer [2.2/processing-request-revision, 2.2/processing-request-revision-no-coercion]", async () => {
  const service = await serviceForTest();
  const request = await requestProcessing(service);
  const answer = await service.call(operations.getMicSharedFileProcessingRequest, { path: { requestId: request.id } });
  expect(answer.text).toMatch(/"revision":\s*\d+[,}]/);
  const body = answer.text.replace(/"revision":\s*\d+/, '"revision":9223372036854775807');
  await service.injectFault(
    { kind: "body", body, contentType: "application/json", status: 200 },
    { operationId: "getMicSharedFileProcessingRequest", times: 1 },
  );
  const large = await service.call(operations.getMicSharedFileProcessingRequest, { path: { requestId: request.id } });
  expect(valueAt(parseJson(large.text), "data", "revision")).toBe(9223372036854775807n);
  expect(operations.getMicSharedFileProcessingRequest.answer.safeParse(parseJson(large.text)).success).toBe(true);
});
