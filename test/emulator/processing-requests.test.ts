// Tests requests for permission to process a shared file, docs/contract.md, 1, 2.2, 3 and 4.2.
import { expect } from "vitest";
import type { ProcessingRequest } from "../../src/contract/processing-requests.ts";
import { operations } from "../operations.ts";
import { expectProblem } from "./http.ts";
import { type Service, test } from "./service.ts";
import { createJobBody, createProcessingBody, FILE, findOneInputOffer, last, registerInput } from "./work.ts";

async function prepare(service: Service) {
  const [offer, input] = await Promise.all([findOneInputOffer(service), registerInput(service, FILE.succeeds)]);
  return { offer, input, body: createProcessingBody(service, offer, input.id) };
}

const send = async (service: Service, body: object): Promise<ProcessingRequest> =>
  (await service.ok(operations.requestMicSharedFileProcessing, { body })).data;
const requestProcessing = async (service: Service) => await send(service, (await prepare(service)).body);

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

test("a processing request is SUBMITTED, REVIEWABLE, then APPROVED, each with a higher revision, and starts no job", {
  tags: [
    "3/processing-request-state",
    "2.2/processing-request-hashes",
    "2.2/processing-request-reason-code",
    "2.2/processing-request-instants",
    "1/permission-reviewed-before-job",
  ],
}, async ({ service }) => {
  const listJobs = async () => (await service.ok(operations.listMicJobs, service.inWorkspace({ limit: 100 }))).data;
  const before = (await listJobs()).map(({ id }) => id);
  const { body } = await prepare(service);
  const expiresAt = body.expiresAt.replace("Z", "456Z");
  const request = await send(service, { ...body, expiresAt });
  expect(request).toMatchObject({ state: "SUBMITTED", revision: 1, reviewHash: null, reasonCode: null });
  const readings = await watchUntilDecided(service, request.id);
  const changes = readings.filter(({ state }, index) => state !== readings[index - 1]?.state);
  expect(changes.map(({ state }) => state)).toEqual(["SUBMITTED", "REVIEWABLE", "APPROVED"]);
  const revisions = changes.map(({ revision }) => revision);
  expect(revisions).toEqual([...new Set(revisions)].sort());
  const { requestHash } = request;
  for (const reading of readings) expect(reading).toMatchObject({ requestHash, expiresAt });
  expect(last(readings)).toMatchObject({
    reviewHash: expect.stringMatching(/^[0-9a-f]{64}$/),
    reasonCode: "REVIEWED_PROCESSING_PURPOSE",
  });
  expect((await listJobs()).map(({ id }) => id)).toEqual(before);
});

test("a permission is REVOKED when it expires", { tags: ["3/processing-request-state"] }, async ({ service }) => {
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

test("a job that needs a permission runs only after it was granted", {
  tags: ["1/permission-reviewed-before-job"],
}, async ({ service }) => {
  const { offer, input, body: request } = await prepare(service);
  const { id } = await send(service, request);
  const body = createJobBody(service, offer, input.id);
  expectProblem(await service.call(operations.createMicJob, { body }), 403);
  await watchUntilDecided(service, id);
  expect((await service.call(operations.createMicJob, { body })).status).toBe(202);
});
