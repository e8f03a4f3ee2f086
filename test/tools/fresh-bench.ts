// The same emulator behind a server that has read nothing yet: geography is kept for a while once it was read.
import { onTestFinished } from "vitest";
import { type ClientRevision, emulatorEnv } from "../support/mcp.ts";
import type { Bench } from "./bench.ts";
import { connectInProcessByDefault } from "./revisions.ts";

/** For the running test alone; what it changes in the emulator's geography is undone. */
export async function createFreshBench(
  bench: Bench,
  revision: ClientRevision,
  env: Readonly<Record<string, string>> = {},
): Promise<Bench> {
  onTestFinished(async () => {
    await bench.service.admin("DELETE", "geography");
  });
  const connection = await connectInProcessByDefault(revision, {
    env: {
      ...emulatorEnv(bench.service.emulator),
      MIC_DOWNLOAD_DIR: bench.downloadDir,
      MIC_GEOGRAPHY_RATE: "600",
      ...env,
    },
  });
  onTestFinished(() => connection.close());
  return bench.withConnection(connection);
}

export const isPlayground = ({ path }: { readonly path: string }): boolean => path.startsWith("/api/");
