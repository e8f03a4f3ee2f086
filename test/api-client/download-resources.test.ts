// Tests the memory and disk use of a download in the server's own process, and its behavior when the disk is full.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { test } from "../support/fixtures.ts";
import { type Connection, connectionForTest } from "../support/mcp.ts";
import { isInstalled, peakMegabytes } from "../support/process.ts";
import { answer, flood, type Stub } from "../support/stub.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { stubEnv } from "./client.ts";

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
