// What a test of actions starts from: a stub of the service, an empty folder for the journal, and the variables that name both.
import { join } from "node:path";
import { stubEnv } from "../api-client/client.ts";
import { type Stub, stubForTest } from "../support/stub.ts";
import { folderForTest } from "../support/temporary-folder.ts";

export interface Bench {
  readonly stub: Stub;
  /** Its parent is the test's own, too. */
  readonly stateDir: string;
  readonly env: Readonly<Record<string, string>>;
}

/** For the running test alone. */
export async function benchForTest(changes: Readonly<Record<string, string>> = {}): Promise<Bench> {
  const stub = await stubForTest();
  const stateDir = join(await folderForTest(), "state");
  const env = {
    ...stubEnv(stub),
    MIC_STATE_DIR: stateDir,
    ...changes,
  };
  return { stub, stateDir, env };
}
