// Tests registering and reading inputs, and the download of their files, docs/contract.md, 2.2 and 4.2.

import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { operations } from "../operations.ts";
import { expectProblem } from "./http.ts";
import { type Service, serviceForFile, serviceForTest } from "./service.ts";
import { createJobBody, FILE, fileId, findOneInputOffer, registerInput, runJobToEnd } from "./work.ts";

const service = serviceForFile();

/** Status for a reference of another kind: the format of a file id is checked (400), and other references are looked up (422). */
const missingReferenceStatus = (inputKind: string): 400 | 422 => (inputKind === "M4_FILE" ? 400 : 422);

const readInput = async (testService: Service, inputId: string) =>
  (await testService.ok(operations.getMicPublicInput, { path: { inputId } })).data;

test("an input of a file has the file's id and scan state [4.2/create-input, 4.2/get-input]", async () => {
  const input = await registerInput(service(), FILE.succeeds);
  expect(input).toMatchObject({
    workspaceId: service().emulator.workspaceId,
    inputKind: "M4_FILE",
    referenceId: fileId(service(), FILE.succeeds),
    state: "READY",
    scanState: "CLEAN",
  });
  expect(await readInput(service(), input.id)).toEqual(input);
});

test("a file is scanned in five seconds and becomes READY, and until then no job can use it [4.2/input-reference-file, 3/input-state, 3/input-scan-state]", async () => {
  const own = await serviceForTest();
  const input = await registerInput(own, FILE.waitsForScan);
  expect([input.state, input.scanState]).toEqual(["WAITING_SCAN", "PENDING"]);
  const body = createJobBody(own, await findOneInputOffer(own), input.id);
  expect(expectProblem(await own.call(operations.createMicJob, { body }), 409).code).toBe("INPUT_BEING_SCANNED");
  own.clock.advance(4900);
  expect(await readInput(own, input.id)).toEqual(input);
  own.clock.advance(200);
  const ready = await readInput(own, input.id);
  expect([ready.state, ready.scanState]).toEqual(["READY", "CLEAN"]);
  expect(BigInt(ready.resourceVersion)).toBeGreaterThan(BigInt(input.resourceVersion));
  expect(Date.parse(ready.updatedAt)).toBeGreaterThan(Date.parse(input.updatedAt));
  expect(ready.sha256).toBe(input.sha256);
  expect((await own.call(operations.createMicJob, { body })).status).toBe(202);
});

test("an infected file is quarantined [3/input-state, 3/input-scan-state]", async () => {
  const input = await registerInput(service(), FILE.quarantined);
  expect([input.state, input.scanState]).toEqual(["QUARANTINED", "INFECTED"]);
});

test("a dataset version that a job created can be an input", async () => {
  const own = await serviceForTest();
  const { workspaceId } = own.emulator;
  const job = await runJobToEnd(own, FILE.succeeds);
  const { data } = await own.ok(operations.createMicPublicInput, {
    body: { workspaceId, inputKind: "DATASET_VERSION", referenceId: job.outputDatasetVersionId },
  });
  expect(data).toMatchObject({ inputKind: "DATASET_VERSION", referenceId: job.outputDatasetVersionId, state: "READY" });
});

test("acquisitions and dataset versions of the workspace can be registered, each with its own kind [4.2/input-kind]", async () => {
  const { workspaceId, inputIds } = service().emulator;
  const kinds = [];
  for (const inputId of inputIds) {
    const { inputKind, referenceId, sha256 } = await readInput(service(), inputId);
    if (inputKind === "M4_FILE") continue;
    kinds.push(inputKind);
    const body = { workspaceId, inputKind, referenceId };
    const { data } = await service().ok(operations.createMicPublicInput, { body });
    expect(data).toMatchObject({ inputKind, referenceId, sha256, state: "READY" });
    expect(inputIds).not.toContain(data.id);
    for (const other of ["M4_FILE", "ACQUISITION", "DATASET_VERSION"].filter((kind) => kind !== inputKind)) {
      const wrong = { ...body, inputKind: other };
      expectProblem(
        await service().call(operations.createMicPublicInput, { body: wrong }),
        missingReferenceStatus(other),
      );
    }
  }
  expect(kinds.sort()).toEqual(["ACQUISITION", "DATASET_VERSION"]);
});

const download = (assetId: string) => service().call(operations.getMicPublicAssetContent, { path: { assetId } });
const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

test("the emulator's asset ids are the ids of its files", () => {
  const { assetIds, fileIds } = service().emulator;
  const unavailableIds = [fileIds[FILE.waitsForScan], fileIds[FILE.quarantined]];
  expect(assetIds).toEqual(fileIds.filter((id) => !unavailableIds.includes(id)));
  expect(service().emulator.fileIds.length).toBeGreaterThanOrEqual(7);
  expect(new Set(service().emulator.fileIds).size).toBe(service().emulator.fileIds.length);
});

test("each file is returned as complete raw bytes whose sha256 is that of its input [4.2/get-asset-content, 2.2/input-sha256]", async () => {
  for (const assetId of service().emulator.assetIds) {
    const answer = await download(assetId);
    expect(answer.status, answer.text).toBe(200);
    expect(answer.headers["content-type"]).not.toMatch(/^application\/json/);
    expect(Number(answer.headers["content-length"])).toBe(answer.bytes.length);
    expect(answer.bytes.length).toBeGreaterThan(0);
    expect(sha256(answer.bytes)).toBe(
      (await registerInput(service(), service().emulator.fileIds.indexOf(assetId))).sha256,
    );
  }
});

test("a file whose scan did not find it clean is not returned", async () => {
  for (const index of [FILE.quarantined, FILE.waitsForScan]) {
    const answer = await download(service().emulator.fileIds[index] ?? "");
    expectProblem(answer, 409);
  }
});

test("HEAD on an asset returns its size and no body", async () => {
  const [assetId = ""] = service().emulator.assetIds;
  const get = await download(assetId);
  const head = await service().call(operations.getMicPublicAssetContent, { method: "HEAD", path: { assetId } });
  expect([head.status, head.bytes.length]).toEqual([200, 0]);
  for (const name of ["content-type", "content-length", "content-disposition", "etag"])
    expect(head.headers[name]).toBe(get.headers[name]);
});
