// Creates the fixture of an action test: a stub of the API, an empty journal folder, and the variables that name both.
import { join } from "node:path";
import { stubEnv } from "../api-client/client.ts";
import { type Stub, stubForTest } from "../support/stub.ts";
import { folderForTest } from "../support/temporary-folder.ts";

export interface Bench {
  readonly stub: Stub;
  /** Its parent folder also belongs only to this test. */
  readonly stateDir: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Creates the fixture for the running test only. */
export async function benchForTest(changes: Readonly<Record<string, string>> = {}): Promise<Bench> {
  const stub = await stubForTest();
  const stateDir = join(await folderForTest(), "state");
  const env = { ...stubEnv(stub), MIC_STATE_DIR: stateDir, ...changes };
  return { stub, stateDir, env };
}
