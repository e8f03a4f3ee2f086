// Tests registering and reading inputs, and the download of their files, docs/contract.md, 2.2 and 4.2.

import { createHash } from "node:crypto";
import { expect } from "vitest";
import { operations } from "../operations.ts";
import { expectProblem } from "./http.ts";
import { type Service, serviceForFile, test } from "./service.ts";
import { createJobBody, FILE, fileId, findOneInputOffer, registerInput, runJobToEnd } from "./work.ts";

const fileService = serviceForFile();

const readInput = async (service: Service, inputId: string) =>
  (await service.ok(operations.getMicPublicInput, { path: { inputId } })).data;

test("a file is scanned in five seconds and becomes READY, and until then no job can use it", {
  tags: ["4.2/input-reference-file", "3/input-state", "3/input-scan-state"],
}, async ({ service }) => {
  const input = await registerInput(service, FILE.waitsForScan);
  expect([input.state, input.scanState]).toEqual(["WAITING_SCAN", "PENDING"]);
  const body = createJobBody(service, await findOneInputOffer(service), input.id);
  expect(expectProblem(await service.call(operations.createMicJob, { body }), 409).code).toBe("INPUT_BEING_SCANNED");
  service.clock.advance(4900);
  expect(await readInput(service, input.id)).toEqual(input);
  service.clock.advance(200);
  const ready = await readInput(service, input.id);
  expect([ready.state, ready.scanState, ready.sha256]).toEqual(["READY", "CLEAN", input.sha256]);
  expect(BigInt(ready.resourceVersion)).toBeGreaterThan(BigInt(input.resourceVersion));
  expect(Date.parse(ready.updatedAt)).toBeGreaterThan(Date.parse(input.updatedAt));
  expect((await service.call(operations.createMicJob, { body })).status).toBe(202);
});

test("acquisitions and dataset versions, including one that a job created, can be registered, each with its own kind", {
  tags: ["4.2/input-kind"],
}, async ({ service }) => {
  const { workspaceId, inputIds } = service.emulator;
  const inputs = await Promise.all(inputIds.map((id) => readInput(service, id)));
  const registered = inputs.filter(({ inputKind }) => inputKind !== "M4_FILE");
  expect(registered.map(({ inputKind }) => inputKind).sort()).toEqual(["ACQUISITION", "DATASET_VERSION"]);
  const { outputDatasetVersionId: created } = await runJobToEnd(service, FILE.succeeds);
  for (const { inputKind, referenceId } of [...registered, { inputKind: "DATASET_VERSION", referenceId: created }]) {
    const body = { workspaceId, inputKind, referenceId };
    const { data } = await service.ok(operations.createMicPublicInput, { body });
    expect(data).toMatchObject({ inputKind, referenceId, state: "READY" });
    expect(inputIds).not.toContain(data.id);
    for (const [other, status] of [
      // The format of a file id is checked, and other references are looked up.
      ["M4_FILE", 400],
      [inputKind === "ACQUISITION" ? "DATASET_VERSION" : "ACQUISITION", 422],
    ] as const)
      expectProblem(
        await service.call(operations.createMicPublicInput, { body: { ...body, inputKind: other } }),
        status,
      );
  }
});

const download = (assetId: string) => fileService().call(operations.getMicPublicAssetContent, { path: { assetId } });

test("a table of which a job can succeed has the columns and values of the divisions recipes", async () => {
  const { assetIds, fileIds } = fileService().emulator;
  const tables = assetIds.filter((id) => id.startsWith("devfile_") && fileIds.indexOf(id) !== FILE.failsForGood);
  expect(tables.length).toBeGreaterThan(4);
  for (const assetId of tables) {
    const [header, ...rows] = (await download(assetId)).text.trimEnd().split("\r\n");
    expect(header).toBe("code,name,mandalCount");
    for (const row of rows) expect(row).toMatch(/^[^,"]+,[^,"]+,\d+$/);
  }
});

test("a file is returned as complete raw bytes with the sha256 of its input; a file that is not scanned as clean is refused", {
  tags: ["4.2/get-asset-content", "2.2/input-sha256"],
}, async () => {
  const { assetIds, fileIds } = fileService().emulator;
  const unavailableIds = [FILE.waitsForScan, FILE.quarantined].map((file) => fileId(fileService(), file));
  expect(assetIds).toEqual(fileIds.filter((id) => !unavailableIds.includes(id)));
  for (const id of unavailableIds) expectProblem(await download(id), 409);
  for (const assetId of assetIds) {
    const { status, text, headers, bytes } = await download(assetId);
    expect(status, text).toBe(200);
    expect(Number(headers["content-length"])).toBe(bytes.length);
    const { sha256 } = await registerInput(fileService(), fileIds.indexOf(assetId));
    expect(createHash("sha256").update(bytes).digest("hex")).toBe(sha256);
  }
});
