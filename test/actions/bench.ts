// Creates the fixture of an action test: a stub of the API, an empty journal folder, and the variables that name both.
import { join } from "node:path";
import { stubEnv } from "../api-client/client.ts";
import { stubForTest } from "../support/stub.ts";
import { folderForTest } from "../support/temporary-folder.ts";

/** Creates the fixture for the running test only. The parent folder of `stateDir` also belongs only to this test. */
export async function benchForTest(changes: Readonly<Record<string, string>> = {}) {
  const stub = await stubForTest();
  const stateDir = join(await folderForTest(), "state");
  const env = { ...stubEnv(stub), MIC_STATE_DIR: stateDir, ...changes };
  return { stub, stateDir, env };
}
