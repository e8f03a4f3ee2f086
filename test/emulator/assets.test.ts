// Tests the download of original files, docs/contract.md, 4.2.
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { operations } from "../operations.ts";
import { expectProblem } from "./http.ts";
import { serviceForFile } from "./service.ts";
import { FILE, registerInput } from "./work.ts";

const service = serviceForFile();
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
