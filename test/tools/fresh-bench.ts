// Connects the same emulator with a server that has empty caches, because geography is cached after a read.
import { onTestFinished } from "vitest";
import { type ClientRevision, connectInProcess, emulatorEnv } from "../support/mcp.ts";
import type { Bench } from "./bench.ts";

/** The bench is for the running test only; changes to the emulator's geography are undone when it ends. */
export async function createFreshBench(
  bench: Bench,
  revision: ClientRevision,
  env: Readonly<Record<string, string>> = {},
): Promise<Bench> {
  onTestFinished(async () => {
    await bench.service.admin("DELETE", "geography");
  });
  const connection = await connectInProcess(revision, {
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
