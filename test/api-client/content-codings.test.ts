// Tests answers that a proxy has encoded, although each request asks for no content coding.
import { readFile } from "node:fs/promises";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { expect } from "vitest";
import { enveloped, job, problem } from "../contract/samples.ts";
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
  ["deflate, identity, gzip", gzipSync(deflateSync(body))],
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

const bodyOf = (coding: string, coded: Buffer) => answer(202, coded, { "content-encoding": coding });

test.for([
  ["another coding", bodyOf("compress", gzipSync(body))],
  ["bytes that do not have the coding", bodyOf("gzip", deflateSync(body))],
  ["six codings", bodyOf("gzip, gzip, gzip, gzip, gzip, gzip", gzipSync(body))],
] as const)(
  "an action is sent once if its answer has the contract's status and %s, and the same call finds its outcome",
  async ([_, step], { stub, service }) => {
    stub.expect(step);
    const facts = await expectFailure(submitJob(service));
    expect(facts).toMatchObject({ kind: "outcome_unknown", sideEffect: "unknown", retryable: true });
    expect(facts.message).toContain("content coding");
    stub.expect(answer(202, enveloped(job)));
    expect(await submitJob(service)).toMatchObject({ attempts: 1, value: { data: { id: job.id } } });
  },
);

test("the token endpoint is asked for no content coding, and an encoded token is decoded", async ({
  stub,
  service,
}) => {
  stub.respondToToken(() =>
    answer(200, brotliCompressSync(JSON.stringify({ access_token: "tok-1" })), { "content-encoding": "br" }),
  );
  stub.expect(answer(200, enveloped(job)));
  await readJob(service);
  expect(stub.tokenRequests[0]?.headers["accept-encoding"]).toBe("identity");
  expect(stub.requests[0]?.headers["authorization"]).toBe("Bearer tok-1");
});

const saveTest = test.extend("save", ({ client }) => async () => {
  const download = { assetId: "devfile_1", folder: await folderForTest() };
  return await client.downloads.save(download, createCallContext(10_000), () => undefined);
});

const content = Buffer.from("code,name\n".repeat(10_000));

saveTest.for([
  ["gzip", gzipSync(content)],
  ["deflate", deflateSync(content)],
  ["br", brotliCompressSync(content)],
  ["gzip, br", brotliCompressSync(gzipSync(content))],
] as const)("a file with the content coding %s is saved decoded", async ([coding, coded], { stub, save }) => {
  stub.expect(answer(200, coded, { "content-encoding": coding, "content-length": String(coded.length) }));
  const saved = await save();
  expect(saved).not.toHaveProperty("warning");
  expect(saved.bytes).toBe(content.length);
  expect((await readFile(saved.path)).equals(content)).toBe(true);
});

saveTest("a file with another content coding is refused by its name", async ({ stub, save }) => {
  stub.expect(answer(200, gzipSync(content), { "content-encoding": "zstd" }));
  expect((await expectFailure(save())).message).toContain("the content coding zstd");
});

saveTest("a file is requested again after bytes that cannot be decoded or are cut", async ({ stub, save }) => {
  const headers = { "content-encoding": "gzip" };
  stub.expect(answer(200, content, headers), answer(200, gzipSync(content).subarray(0, 60), headers));
  stub.expect(answer(200, gzipSync(content), headers));
  expect((await save()).bytes).toBe(content.length);
});

saveTest("an encoded refusal of a file is decoded", async ({ stub, save }) => {
  stub.expect(answer(404, gzipSync(JSON.stringify(problem)), { "content-encoding": "gzip" }));
  expect(await expectFailure(save())).toMatchObject({ kind: "not_found", requestId: problem.requestId });
});
