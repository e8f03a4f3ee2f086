// A service that chooses for itself where the contract says "not shown", and the real server behind a real client on it.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, onTestFinished } from "vitest";
import { credentials } from "../api-client/client.ts";
import { type ClientFace, insideForFile, insideForTest } from "../support/mcp.ts";
import { type Stub, stubForFile, stubForTest } from "../support/stub.ts";

export interface Session {
  readonly stub: Stub;
  readonly connection: ClientFace;
  readonly downloadDir: string;
}

const newFolder = (): string => mkdtempSync(join(tmpdir(), "mic-mcp-gaps-"));
const remove = (folder: string): void => rmSync(folder, { recursive: true, force: true });

const env = ({ baseUrl }: Stub, downloadDir: string) => ({
  MIC_BASE_URL: baseUrl,
  MIC_CLIENT_ID: credentials.clientId,
  MIC_CLIENT_SECRET: credentials.clientSecret,
  MIC_DOWNLOAD_DIR: downloadDir,
  MIC_GEOGRAPHY_RATE: "600",
});

/** For all tests of a file: the server remembers what it was told, so each test speaks of ids of its own. */
export function sessionForFile(): () => Session {
  const downloadDir = newFolder();
  const stubOf = stubForFile();
  const connectionOf = insideForFile("v2-modern", () => env(stubOf(), downloadDir));
  afterAll(() => remove(downloadDir));
  return () => ({ stub: stubOf(), connection: connectionOf(), downloadDir });
}

/** For the running test alone: nothing was told before. */
export async function sessionForTest(): Promise<Session> {
  const downloadDir = newFolder();
  onTestFinished(() => remove(downloadDir));
  const stub = await stubForTest();
  return { stub, connection: await insideForTest("v2-modern", env(stub, downloadDir)), downloadDir };
}
