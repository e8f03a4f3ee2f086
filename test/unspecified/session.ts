// Starts a stub of an API that behaves in any way the contract does not exclude, and the real server behind a real client on it.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, onTestFinished } from "vitest";
import { credentials } from "../api-client/client.ts";
import { inProcessClientForFile, inProcessClientForTest, type TestClient } from "../support/mcp.ts";
import { type Stub, stubForFile, stubForTest } from "../support/stub.ts";

export interface Session {
  readonly stub: Stub;
  readonly connection: TestClient;
}

const createFolder = (): string => mkdtempSync(join(tmpdir(), "mic-mcp-gaps-"));
const removeFolder = (folder: string): void => rmSync(folder, { recursive: true, force: true });

const createEnvironment = ({ baseUrl }: Stub, downloadDir: string) => ({
  MIC_BASE_URL: baseUrl,
  MIC_CLIENT_ID: credentials.clientId,
  MIC_CLIENT_SECRET: credentials.clientSecret,
  MIC_DOWNLOAD_DIR: downloadDir,
  MIC_GEOGRAPHY_RATE: "600",
});

/** Starts a session for all tests of a file. The server caches answers, so each test uses different ids. */
export function sessionForFile(): () => Session {
  const downloadDir = createFolder();
  const stubOf = stubForFile();
  const connectionOf = inProcessClientForFile("v2-modern", () => createEnvironment(stubOf(), downloadDir));
  afterAll(() => removeFolder(downloadDir));
  return () => ({ stub: stubOf(), connection: connectionOf() });
}

/** Starts a session for the running test only: the server has no cached answers. */
export async function sessionForTest(): Promise<Session> {
  const downloadDir = createFolder();
  onTestFinished(() => removeFolder(downloadDir));
  const stub = await stubForTest();
  return { stub, connection: await inProcessClientForTest("v2-modern", createEnvironment(stub, downloadDir)) };
}
