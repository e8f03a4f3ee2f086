// Tests answers that a proxy has encoded, although each request asks for no content coding.
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { expect } from "vitest";
import { getMicPublicAssetContent } from "../../src/contract/endpoints/job-processing.ts";
import { enveloped, job } from "../contract/samples.ts";
import { test } from "../support/fixtures.ts";
import { answer } from "../support/stub.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { createCallContext, expectFailure, readJob, submitJob } from "./client.ts";

const body = Buffer.from(JSON.stringify(enveloped(job)));

test.for([
  ["gzip", gzipSync(body)],
  ["GZIP", gzipSync(body)],
  ["deflate", deflateSync(body)],
  ["br", brotliCompressSync(body)],
] as const)("an answer with the content coding %s is decoded", async ([coding, coded], { stub, service }) => {
  const headers = { "content-encoding": coding };
  stub.expect(answer(200, coded, headers), answer(202, coded, headers));
  expect((await readJob(service)).value.data.id).toBe(job.id);
  expect(await submitJob(service)).toMatchObject({ attempts: 1, value: { data: { id: job.id } } });
  expect(stub.requests.map((request) => request.headers["accept-encoding"])).toEqual(["identity", "identity"]);
});

test("an answer with another content coding is reported by its name", async ({ stub, service }) => {
  stub.expect(answer(200, gzipSync(body), { "content-encoding": "compress" }));
  expect((await expectFailure(readJob(service))).message).toContain("content coding compress");
});

test("a body that is larger than allowed when it is decoded is refused", async ({ stub, service }) => {
  stub.expect(answer(200, gzipSync(Buffer.alloc(17 * 1024 * 1024, " ")), { "content-encoding": "gzip" }));
  expect(await expectFailure(readJob(service))).toMatchObject({ kind: "contract_violation" });
});

test("a file with a content coding is not saved", async ({ stub, client }) => {
  const folder = await folderForTest();
  stub.expect(answer(200, gzipSync("a,b"), { "content-encoding": "gzip" }));
  const saved = client.downloads.save(
    getMicPublicAssetContent,
    { path: { assetId: "devfile_1" } },
    { folder, fallbackName: "devfile_1" },
    createCallContext(10_000),
    () => undefined,
  );
  expect((await expectFailure(saved)).message).toContain("the content coding gzip");
});
