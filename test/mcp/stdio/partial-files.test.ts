// Tests that partial files of downloads are removed however the server ends; after a kill, by a later download.
import { lutimes, mkdir, readdir, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { stubEnv } from "../../api-client/client.ts";
import { answer, answerSlowly, type Stub, stubForTest } from "../../support/stub.ts";
import { folderForTest } from "../../support/temporary-folder.ts";
import { runCount } from "../../support/thorough.ts";
import { posixMissing, testUnless } from "../../support/unless.ts";
import { callMessage, initialize, type Program, start, usualEndings } from "./child.ts";

const bytes = Buffer.alloc(200_000, "x");

async function setUp() {
  const stub = await stubForTest();
  const folder = await folderForTest();
  // The slow download lasts until the test interrupts it.
  stub.respond(({ target }) => (target.includes("quick") ? answer(200, bytes) : answerSlowly(200, bytes, 10_000, 20)));
  return { stub, folder, files: async () => (await readdir(folder)).sort() };
}

async function startSession(stub: Stub, folder: string): Promise<Program> {
  const program = start(["serve"], { env: { ...stubEnv(stub), MIC_DOWNLOAD_DIR: folder } });
  await initialize(program);
  return program;
}

const downloadMessage = (id: number, name: string) =>
  callMessage(id, "download_asset", { assetId: name, fileName: `${name}.bin` });

const cancellation = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 2 } };

test.each([
  ...usualEndings,
  [
    "the end of stdin right after a cancellation",
    (program: Program) => void program.process.stdin.end(`${JSON.stringify(cancellation)}\n`),
  ] as const,
])("%s during downloads leaves no partial files", async (_, endSession) => {
  const { stub, folder, files } = await setUp();
  for (let round = 0; round < runCount(1, 3); round++) {
    const program = await startSession(stub, folder);
    program.send(downloadMessage(2, "one"));
    program.send(downloadMessage(3, "two"));
    await expect.poll(files).toHaveLength(2);
    endSession(program);
    expect(await program.exit).toEqual({ code: 0, signal: null });
    expect(await files()).toEqual([]);
  }
});

testUnless(
  posixMissing,
  "a partial file that no process has written to for a day is removed by the next download, and nothing else is",
  async () => {
    const { stub, folder, files } = await setUp();
    const twoDaysAgo = new Date(Date.now() - 2 * 86_400_000);
    const killed = await startSession(stub, folder);
    killed.send(downloadMessage(2, "old"));
    await expect.poll(files).toHaveLength(1);
    const [old = ""] = await files();
    killed.send(downloadMessage(3, "recent"));
    await expect.poll(files).toHaveLength(2);
    const recent = (await files()).find((name) => name !== old) ?? "";
    await expect.poll(async () => (await readdir(join(folder, old))).length).toBe(1);
    killed.process.kill("SIGKILL");
    await killed.exit;
    await utimes(join(folder, old, "part"), twoDaysAgo, twoDaysAgo);

    // Similar names: a file, a link, a folder with another prefix.
    const similar = [".mic-mcp-part-file", "report.part", ".mic-mcp-part-link", ".mic-mcp-other"];
    for (const name of similar.slice(0, 2)) await writeFile(join(folder, name), "mine");
    await mkdir(join(folder, ".mic-mcp-other"));
    await symlink(join(folder, ".mic-mcp-other"), join(folder, ".mic-mcp-part-link"));
    for (const name of similar) await lutimes(join(folder, name), twoDaysAgo, twoDaysAgo);

    const next = await startSession(stub, folder);
    next.send(downloadMessage(2, "quick"));
    await next.answersTo([2]);
    expect(await files()).toEqual([recent, ...similar, "quick.bin"].sort());
  },
);
