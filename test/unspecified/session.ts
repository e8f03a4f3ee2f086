// Starts a stub of an API that behaves in any way the contract does not exclude, and the real server behind a real client on it.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stubEnv } from "../api-client/client.ts";
import { openForFile } from "../support/for-file.ts";
import { inProcessClientForFile, inProcessClientForTest } from "../support/mcp.ts";
import { type Stub, stubForFile, stubForTest } from "../support/stub.ts";
import { folderForTest } from "../support/temporary-folder.ts";

const createEnvironment = (stub: Stub, downloadDir: string) => ({
  ...stubEnv(stub),
  MIC_DOWNLOAD_DIR: downloadDir,
  MIC_GEOGRAPHY_RATE_LIMIT: "600",
});

/** Starts a session for all tests of a file. The server caches answers, so each test uses different ids. */
export function sessionForFile() {
  const folderOf = openForFile(
    () => mkdtemp(join(tmpdir(), "mic-mcp-test-")),
    (folder) => rm(folder, { recursive: true, force: true }),
  );
  const stubOf = stubForFile();
  const connectionOf = inProcessClientForFile("v2-modern", () => createEnvironment(stubOf(), folderOf()));
  return () => ({ stub: stubOf(), connection: connectionOf() });
}

/** Starts a session for the running test only: the server has no cached answers. */
export async function sessionForTest() {
  const stub = await stubForTest();
  const env = createEnvironment(stub, await folderForTest());
  return { stub, connection: await inProcessClientForTest("v2-modern", env) };
}
