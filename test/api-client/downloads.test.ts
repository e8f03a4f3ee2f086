// Tests that a download writes the right bytes under the right name, or no file, in constant memory.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import type { CallContext } from "../../src/api-client/attempts.ts";
import { problem } from "../contract/samples.ts";
import { test as base } from "../support/fixtures.ts";
import { createLatch } from "../support/latch.ts";
import { type Connection, connectionForTest } from "../support/mcp.ts";
import { isInstalled, peakMegabytes } from "../support/process.ts";
import { answer, answerSlowly, answerTruncated, flood, hangUp, holdUntil, type Stub } from "../support/stub.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { posixMissing } from "../support/unless.ts";
import { createCallContext, expectFailure, stubEnv } from "./client.ts";

const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, n) => (n * n) % 251));
const sha256 = createHash("sha256").update(bytes).digest("hex");
const named = { "content-type": "text/csv", "content-disposition": 'attachment; filename="districts.csv"' };
const completeAnswer = answer(200, bytes, named);

interface SaveOptions {
  readonly fileName?: string;
  readonly folder?: string;
  readonly assetId?: string;
  readonly context?: CallContext;
}

/** `save` downloads into `folder`, whose `files` are listed. */
const test = base
  .extend("folder", async () => await folderForTest())
  .extend(
    "files",
    ({ folder }) =>
      async () =>
        (await readdir(folder)).sort(),
  )
  .extend("save", ({ folder, client: { downloads } }) => (options: SaveOptions = {}) => {
    const { context = createCallContext(10_000), assetId = "asset-1", ...target } = options;
    return downloads.save({ assetId, folder, ...target }, context, () => undefined);
  });

test("a download saves the API's bytes under the name that it sends", {
  tags: ["4.2/get-asset-content", "4.2/accept"],
}, async ({ stub, folder, save, files }) => {
  stub.expect(completeAnswer);
  const path = join(folder, "districts.csv");
  const contentType = "text/csv";
  expect(await save()).toEqual({ path, bytes: bytes.length, sha256, contentType, fileName: "districts.csv" });
  expect((await readFile(path)).equals(bytes)).toBe(true);
  expect(await files()).toEqual(["districts.csv"]);
  expect(stub.requests[0]).toMatchObject({ method: "GET", target: "/sandbox/v1/mic/assets/asset-1/content" });
  expect(stub.requests[0]?.headers["accept"]).toBe("application/octet-stream");
});

test("an empty body is saved as an empty file, in a folder that did not exist", async ({ stub, folder, save }) => {
  stub.expect(answer(200, "", {}));
  const saved = await save({ folder: join(folder, "a", "b") });
  expect(saved).toMatchObject({ bytes: 0, fileName: "asset-1", contentType: "application/octet-stream" });
  expect(await readdir(join(folder, "a", "b"))).toEqual(["asset-1"]);
});

test("a truncated download is restarted until it is complete", async ({ stub, save, files }) => {
  stub.expect(
    answerTruncated(200, bytes, 100_000, named),
    answer(503),
    hangUp,
    answerTruncated(503, "x".repeat(5000), 100),
    answerTruncated(200, bytes, 1, named),
    completeAnswer,
  );
  expect(await save()).toMatchObject({ bytes: bytes.length, sha256 });
  expect(await files()).toEqual(["districts.csv"]);
});

const { requestId, code } = problem;

test.for([
  ["404 and a Problem", answer(404, problem), { kind: "not_found", requestId, code }],
  ["404 and megabytes of text", answer(404, "x".repeat(3_000_000)), { kind: "not_found", status: 404 }],
  ["410 and a Problem, wrapped", answer(410, { error: problem }), { kind: "rejected", requestId, code }],
  ["204 without a body", answer(204), { kind: "contract_violation" }],
  ["302 with a Location header", answer(302, undefined, { location: "/elsewhere" }), { kind: "contract_violation" }],
  [
    "200 with a truncated body",
    answerTruncated(200, bytes, 100_000, named),
    { kind: "upstream_unavailable", retryable: true },
  ],
] as const)(
  "a download fails and saves no file if the answer is %s",
  async ([_, step, facts], { stub, save, files }) => {
    stub.respond(() => step);
    expect(await expectFailure(save())).toMatchObject({ ...facts, sideEffect: "none" });
    expect(await files()).toEqual([]);
  },
);

test("a taken file name from the API gets a number, and no file is overwritten", async ({
  stub,
  folder,
  save,
  files,
}) => {
  stub.respond(() => completeAnswer);
  await writeFile(join(folder, "districts.csv"), "mine");
  expect((await save()).fileName).toBe("districts (2).csv");
  expect((await save()).fileName).toBe("districts (3).csv");
  expect(await readFile(join(folder, "districts.csv"), "utf8")).toBe("mine");
  expect(await files()).toEqual(["districts (2).csv", "districts (3).csv", "districts.csv"]);
});

test("a taken file name that the agent chose is refused before a request is sent", async ({ stub, folder, save }) => {
  await writeFile(join(folder, "mine.csv"), "mine");
  await mkdir(join(folder, "sub"));
  for (const fileName of ["mine.csv", "sub"])
    expect(await expectFailure(save({ fileName }))).toMatchObject({
      kind: "invalid_arguments",
      sideEffect: "none",
      fieldErrors: [{ pointer: "/fileName" }],
    });
  expect(await readFile(join(folder, "mine.csv"), "utf8")).toBe("mine");
  expect(stub.requests).toHaveLength(0);
});

test("a file name is refused if another program creates the file during the download", async ({
  stub,
  folder,
  save,
  files,
}) => {
  stub.respond(() => holdUntil(writeFile(join(folder, "late.csv"), "mine"), completeAnswer));
  expect(await expectFailure(save({ fileName: "late.csv" }))).toMatchObject({ kind: "invalid_arguments" });
  expect(await readFile(join(folder, "late.csv"), "utf8")).toBe("mine");
  expect(await files()).toEqual(["late.csv"]);
});

// Windows lets only administrators create links.
test.skipIf(posixMissing !== undefined)(
  "a file name that is a link out of the folder is refused, and not followed (needs POSIX)",
  async ({ stub, folder, save }) => {
    const externalFile = join(await folderForTest(), "outside.csv");
    stub.respond(() => completeAnswer);
    await symlink(externalFile, join(folder, "link.csv"));
    expect(await expectFailure(save({ fileName: "link.csv" }))).toMatchObject({ kind: "invalid_arguments" });
    await expect(readFile(externalFile)).rejects.toThrow("ENOENT");
  },
);

test("a download folder that is a file is reported with advice", async ({ stub, folder, save }) => {
  await writeFile(join(folder, "file"), "");
  const facts = await expectFailure(save({ folder: join(folder, "file") }));
  expect(facts).toMatchObject({ sideEffect: "none", retryable: false });
  expect(facts.message).toContain(join(folder, "file"));
  expect(facts.next).toContain("MIC_DOWNLOAD_DIR");
  expect(stub.requests).toHaveLength(0);
});

test("only simultaneous downloads of one asset under one name share a request", async ({ stub, save, files }) => {
  stub.respond(() => completeAnswer);
  const saved = await Promise.all([save(), save(), save()]);
  expect(new Set(saved.map(({ path }) => path)).size).toBe(1);
  expect(stub.requests).toHaveLength(1);
  await Promise.all([save({ fileName: "a" }), save({ fileName: "b" }), save({ assetId: "asset-2" })]);
  await save();
  expect(await files()).toEqual(["a", "b", "districts (2).csv", "districts (3).csv", "districts.csv"]);
  expect(stub.requests).toHaveLength(5);
});

test("a repeated download joins the running one after the first call has timed out", async ({ stub, save, files }) => {
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

test("a download continues for other callers after the first call is canceled", async ({ stub, save }) => {
  const client = new AbortController();
  stub.expect(answerSlowly(200, bytes, 10, 20));
  const cancelledSave = expectFailure(save({ context: createCallContext(5000, client.signal) }));
  const staying = save();
  setTimeout(() => client.abort(), 60);
  expect(await cancelledSave).toMatchObject({ kind: "cancelled" });
  expect(await staying).toMatchObject({ sha256 });
});

test("canceling a download aborts its request and leaves no file", async ({ stub, save, files }) => {
  const client = new AbortController();
  stub.respond(() => {
    setTimeout(() => client.abort(), 60);
    return answerSlowly(200, bytes, 100, 1_000);
  });
  const context = createCallContext(600_000, client.signal);
  expect(await expectFailure(save({ context }))).toMatchObject({ kind: "cancelled" });
  expect(await stub.requests[0]?.closed).toBe(false);
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
  "100 MB are downloaded in constant memory (needs /proc)",
  async ({ stub }) => {
    const { connection, folder } = await startServerFor(stub);
    const chunk = Buffer.alloc(65_536, "0123456789abcdef");
    const size = 100 * MEGABYTE;
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
