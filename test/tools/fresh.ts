// The same emulator behind a server that has read nothing yet: geography is kept for a while once it was read.
import { onTestFinished } from "vitest";
import { type ClientRevision, emulatorEnv } from "../support/mcp.ts";
import type { Bench } from "./bench.ts";
import { connectOnce } from "./revisions.ts";

/** For the running test alone; what it changes in the emulator's geography is undone. */
export async function freshBench(
  bench: Bench,
  revision: ClientRevision,
  env: Readonly<Record<string, string>> = {},
): Promise<Bench> {
  onTestFinished(async () => {
    await bench.service.admin("DELETE", "geography");
  });
  const connection = await connectOnce(revision, {
    env: {
      ...emulatorEnv(bench.service.emulator),
      MIC_DOWNLOAD_DIR: bench.downloadDir,
      MIC_GEOGRAPHY_RATE: "600",
      ...env,
    },
  });
  onTestFinished(() => connection.close());
  return bench.on(connection);
}

export const isPlayground = ({ path }: { readonly path: string }): boolean => path.startsWith("/api/");
