// Connects the same emulator with a server that has empty caches, because geography is cached after a read.
import { onTestFinished } from "vitest";
import { type ClientRevision, emulatorEnv, inProcessClientForTest } from "../support/mcp.ts";
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
  const settings = { MIC_DOWNLOAD_DIR: bench.downloadDir, MIC_GEOGRAPHY_RATE_LIMIT: "600", ...env };
  return bench.withConnection(
    await inProcessClientForTest(revision, { ...emulatorEnv(bench.service.emulator), ...settings }),
  );
}

export const isPlayground = ({ path }: { readonly path: string }): boolean => path.startsWith("/api/");
