// Tests that a download writes the right bytes under the right name, or no file, whatever fails, in
// constant memory.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import type { CallContext } from "../../src/api-client/attempts.ts";
import { getMicPublicAssetContent } from "../../src/contract/endpoints/job-processing.ts";
import { problem } from "../contract/samples.ts";
import { test } from "../support/fixtures.ts";
import { createLatch } from "../support/latch.ts";
import { type Connection, connectionForTest } from "../support/mcp.ts";
import { isInstalled, peakMegabytes } from "../support/process.ts";
import {
  answer,
  answerSlowly,
  answerTruncated,
  flood,
  hangUp,
  holdUntil,
  neverAnswer,
  type Stub,
  stubForTest,
} from "../support/stub.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { testUnless } from "../support/unless.ts";
import { clientForTest, createCallContext, expectFailure, stubEnv } from "./client.ts";

const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, n) => (n * n) % 251));
const sha256 = createHash("sha256").update(bytes).digest("hex");
const named = { "content-type": "text/csv", "content-disposition": 'attachment; filename="districts.csv"' };
const completeAnswer = answer(200, bytes, named);

async function createDownloadFixture() {
  const stub = await stubForTest();
  const folder = await folderForTest();
  const { downloads } = clientForTest(stub.baseUrl);
  const save = (options: { fileName?: string; folder?: string; assetId?: string; context?: CallContext } = {}) => {
    const { context = createCallContext(10_000), assetId = "asset-1", ...target } = options;
    const into = { folder, fallbackName: assetId, ...target };
    return downloads.save(getMicPublicAssetContent, { path: { assetId } }, into, context, () => undefined);
  };
  return { stub, folder, save, files: () => readdir(folder) };
}

test("a download saves the API's bytes under the name that it sends [4.2/get-asset-content, 4.2/accept]", async () => {
  const { stub, folder, save, files } = await createDownloadFixture();
  stub.expect(completeAnswer);
  expect(await save()).toEqual({
    path: join(folder, "districts.csv"),
    bytes: bytes.length,
    sha256,
    contentType: "text/csv",
    fileName: "districts.csv",
  });
  expect((await readFile(join(folder, "districts.csv"))).equals(bytes)).toBe(true);
  expect(await files()).toEqual(["districts.csv"]);
  expect(stub.requests[0]).toMatchObject({ method: "GET", target: "/sandbox/v1/mic/assets/asset-1/content" });
  expect(stub.requests[0]?.headers["accept"]).toBe("application/octet-stream");
});

test("an empty body is saved as an empty file", async () => {
  const { stub, save, files } = await createDownloadFixture();
  stub.expect(answer(200, "", {}));
  expect(await save()).toMatchObject({ bytes: 0, fileName: "asset-1", contentType: "application/octet-stream" });
  expect(await files()).toEqual(["asset-1"]);
});

test("a download creates the folder if it does not exist", async () => {
  const { stub, folder, save } = await createDownloadFixture();
  stub.expect(completeAnswer);
  const deep = join(folder, "a", "b");
  expect((await save({ folder: deep })).path).toBe(join(deep, "districts.csv"));
});

test("a truncated download is restarted until it is complete", async () => {
  const { stub, save, files } = await createDownloadFixture();
  stub.expect(
    answerTruncated(200, bytes, 100_000, named),
    answer(503),
    hangUp,
    answerTruncated(200, bytes, 1, named),
    completeAnswer,
  );
  expect(await save()).toMatchObject({ bytes: bytes.length, sha256 });
  expect(await files()).toEqual(["districts.csv"]);
});

test("a download leaves no file if every attempt is truncated", async () => {
  const { stub, save, files } = await createDownloadFixture();
  stub.respond(() => answerTruncated(200, bytes, 100_000, named));
  expect(await expectFailure(save())).toMatchObject({
    kind: "upstream_unavailable",
    sideEffect: "none",
    retryable: true,
  });
  expect(await files()).toEqual([]);
});

test("a download is retried after a truncated error answer as after any other", async () => {
  const { stub, save } = await createDownloadFixture();
  stub.expect(answerTruncated(503, "x".repeat(5000), 100), completeAnswer);
  expect(await save()).toMatchObject({ sha256 });
});

test("a download gets a new token if the token has expired", async () => {
  const { stub, save } = await createDownloadFixture();
  stub.expect(answer(401), completeAnswer);
  expect(await save()).toMatchObject({ sha256 });
  expect(stub.requests.map(({ headers }) => headers.authorization)).toEqual([
    "Bearer stub-token-1",
    "Bearer stub-token-2",
  ]);
});

test.each([
  [404, "a Problem", problem, "not_found"],
  [404, "HTML", "<html>gone</html>", "not_found"],
  [403, "a Problem", problem, "forbidden"],
  [403, "bytes", Buffer.alloc(70_000, 0xff), "forbidden"],
  [401, "a Problem", problem, "unauthorized"],
  [409, "nothing", undefined, "conflict"],
  [410, "a Problem, wrapped", { error: problem }, "rejected"],
  [422, "a Problem", problem, "rejected"],
  [204, "nothing", undefined, "contract_violation"],
  [302, "a redirect", undefined, "contract_violation"],
])("a download fails and saves no file if the answer is %i and %s", async (status, what, body, kind) => {
  const { stub, save, files } = await createDownloadFixture();
  stub.respond(() => answer(status, body, { location: "/elsewhere" }));
  const { requestId, code } = problem;
  const facts = what.includes("Problem") ? { kind, requestId, code } : { kind };
  expect(await expectFailure(save())).toMatchObject({ ...facts, sideEffect: "none" });
  expect(await files()).toEqual([]);
});

test("a download reports the status of an error answer with megabytes of text", async () => {
  const { stub, save } = await createDownloadFixture();
  stub.expect(answer(404, "x".repeat(3_000_000)));
  expect(await expectFailure(save())).toMatchObject({ kind: "not_found", status: 404 });
});

test("an existing file name that the API chose is numbered; nothing is overwritten", async () => {
  const { stub, folder, save, files } = await createDownloadFixture();
  stub.respond(() => completeAnswer);
  await writeFile(join(folder, "districts.csv"), "mine");
  expect((await save()).fileName).toBe("districts (2).csv");
  expect((await save()).fileName).toBe("districts (3).csv");
  expect(await readFile(join(folder, "districts.csv"), "utf8")).toBe("mine");
  expect((await files()).sort()).toEqual(["districts (2).csv", "districts (3).csv", "districts.csv"]);
});

test("an existing file name that the agent chose is refused before anything is sent", async () => {
  const { stub, folder, save } = await createDownloadFixture();
  await writeFile(join(folder, "mine.csv"), "mine");
  const facts = await expectFailure(save({ fileName: "mine.csv" }));
  expect(facts).toMatchObject({ kind: "invalid_arguments", sideEffect: "none" });
  expect(facts.fieldErrors).toMatchObject([{ pointer: "/fileName" }]);
  expect(await readFile(join(folder, "mine.csv"), "utf8")).toBe("mine");
  expect(stub.requests).toHaveLength(0);
});

test("a file name is refused if the file appears while bytes arrive", async () => {
  const { stub, folder, save, files } = await createDownloadFixture();
  stub.respond(() => holdUntil(writeFile(join(folder, "late.csv"), "mine"), completeAnswer));
  const saving = save({ fileName: "late.csv" });
  expect(await expectFailure(saving)).toMatchObject({ kind: "invalid_arguments" });
  expect(await readFile(join(folder, "late.csv"), "utf8")).toBe("mine");
  expect(await files()).toEqual(["late.csv"]);
});

test("a file name is refused if it is a link out of the folder, which is not followed", async () => {
  const { stub, folder, save } = await createDownloadFixture();
  const externalFile = join(await folderForTest(), "outside.csv");
  stub.respond(() => completeAnswer);
  await symlink(externalFile, join(folder, "link.csv"));
  expect(await expectFailure(save({ fileName: "link.csv" }))).toMatchObject({ kind: "invalid_arguments" });
  await expect(readFile(externalFile)).rejects.toThrow("ENOENT");
});

test("a file name is refused if it is a folder", async () => {
  const { folder, save } = await createDownloadFixture();
  await mkdir(join(folder, "sub"));
  expect(await expectFailure(save({ fileName: "sub" }))).toMatchObject({ kind: "invalid_arguments" });
});

test("a download folder that is a file is reported with advice", async () => {
  const { stub, folder, save } = await createDownloadFixture();
  await writeFile(join(folder, "file"), "");
  const facts = await expectFailure(save({ folder: join(folder, "file") }));
  expect(facts).toMatchObject({ sideEffect: "none", retryable: false });
  expect(facts.message).toContain(join(folder, "file"));
  expect(facts.next).toContain("MIC_DOWNLOAD_DIR");
  expect(stub.requests).toHaveLength(0);
});

testUnless(
  process.getuid?.() === 0 ? "root may write everywhere" : undefined,
  "a download folder that is not writable is reported with advice",
  async () => {
    const { stub, folder, save } = await createDownloadFixture();
    stub.respond(() => completeAnswer);
    const locked = join(folder, "locked");
    await mkdir(locked, { mode: 0o500 });
    expect((await expectFailure(save({ folder: locked }))).next).toContain("MIC_DOWNLOAD_DIR");
  },
);

test("simultaneous downloads of the same asset share one request", async () => {
  const { stub, save, files } = await createDownloadFixture();
  stub.expect(completeAnswer);
  const saved = await Promise.all([save(), save(), save()]);
  expect(new Set(saved.map(({ path }) => path)).size).toBe(1);
  expect(await files()).toEqual(["districts.csv"]);
  expect(stub.requests).toHaveLength(1);
});

test("consecutive downloads of the same asset are separate", async () => {
  const { stub, save, files } = await createDownloadFixture();
  stub.expect(completeAnswer, completeAnswer);
  await save();
  await save();
  expect(await files()).toHaveLength(2);
});

test("downloads with different names or assets do not share a request", async () => {
  const { stub, save, files } = await createDownloadFixture();
  stub.expect(completeAnswer, completeAnswer, completeAnswer);
  await Promise.all([save({ fileName: "a" }), save({ fileName: "b" }), save({ assetId: "asset-2" })]);
  expect((await files()).sort()).toEqual(["a", "b", "districts.csv"]);
});

test("a repeated download joins the running one after the first call has timed out", async () => {
  const { stub, save, files } = await createDownloadFixture();
  const { released, release } = createLatch();
  stub.expect(holdUntil(released, completeAnswer));
  const facts = await expectFailure(save({ context: createCallContext(600) }));
  expect(facts).toMatchObject({ kind: "timeout", retryable: true, sideEffect: "none" });
  expect(facts.next).toContain("download_asset");
  release();
  expect(await save()).toMatchObject({ sha256 });
  expect(await files()).toEqual(["districts.csv"]);
  expect(stub.requests).toHaveLength(1);
});

test("a download continues for other callers after the first call is canceled", async () => {
  const { stub, save } = await createDownloadFixture();
  const client = new AbortController();
  stub.expect(answerSlowly(200, bytes, 10, 20));
  const cancelledSave = expectFailure(save({ context: createCallContext(5000, client.signal) }));
  const staying = save();
  setTimeout(() => client.abort(), 60);
  expect(await cancelledSave).toMatchObject({ kind: "cancelled" });
  expect(await staying).toMatchObject({ sha256 });
});

test.each([
  ["before its answer", neverAnswer],
  ["in the middle", answerSlowly(200, bytes, 100, 1_000)],
])("a download breaks off its request and leaves no file if the client cancels %s", async (_, step) => {
  const { stub, save, files } = await createDownloadFixture();
  const client = new AbortController();
  let closed: Promise<boolean> = Promise.resolve(true);
  stub.respond((request) => {
    closed = request.closed;
    setTimeout(() => client.abort(), 60);
    return step;
  });
  expect(await expectFailure(save({ context: createCallContext(600_000, client.signal) }))).toMatchObject({
    kind: "cancelled",
  });
  expect(await closed).toBe(false);
  await expect.poll(files).toEqual([]);
});

const PRLIMIT = "prlimit";
const MEGABYTE = 1_000_000;

async function startServerFor(stub: Stub): Promise<{ connection: Connection; folder: string }> {
  const folder = await folderForTest();
  const connection = await connectionForTest("v2-modern", { env: { ...stubEnv(stub), MIC_DOWNLOAD_DIR: folder } });
  return { connection, folder };
}

test.skipIf(!existsSync("/proc/self/status"))(
  "200 MB are downloaded in constant memory (needs /proc)",
  async ({ stub }) => {
    const { connection, folder } = await startServerFor(stub);
    const chunk = Buffer.alloc(65_536, "0123456789abcdef");
    const size = 200 * MEGABYTE;
    stub.expect(flood(200, chunk, 20 * MEGABYTE), flood(200, chunk, size, { "content-length": String(size) }));
    // The first download loads the code that every download needs.
    await connection.callTool("download_asset", { assetId: "small" });
    const before = await peakMegabytes(connection.pid);
    const { structured } = await connection.callTool("download_asset", { assetId: "large" });
    const hash = createHash("sha256");
    for (let at = 0; at < size; at += chunk.length) hash.update(chunk.subarray(0, size - at));
    expect(structured).toMatchObject({ bytes: size, sha256: hash.digest("hex"), path: join(folder, "large") });
    expect((await peakMegabytes(connection.pid)) - before).toBeLessThan(60);
  },
);

test.skipIf(!isInstalled(PRLIMIT))(
  "a full disk is reported, nothing remains on it, and the server keeps running (needs prlimit)",
  async ({ stub }) => {
    const { connection, folder } = await startServerFor(stub);
    // A file size limit fails a write in the middle of a file, as a full disk does.
    execFileSync(PRLIMIT, ["--pid", String(connection.pid), `--fsize=${MEGABYTE}`]);
    stub.expect(flood(200, Buffer.alloc(65_536, "x"), 3 * MEGABYTE), answer(200, "small enough"));
    const { isError, error, text } = await connection.callTool("download_asset", { assetId: "asset-1" });
    expect(isError).toBe(true);
    expect(error).toMatchObject({ sideEffect: "none", retryable: false });
    expect(text).toContain(folder);
    expect(text).toContain("MIC_DOWNLOAD_DIR");
    expect(await readdir(folder)).toEqual([]);
    expect(await connection.callTool("download_asset", { assetId: "asset-2" })).toMatchObject({ isError: false });
  },
);
