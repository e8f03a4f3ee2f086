// Composes a server in the calling process, with a separate home folder.
import { join } from "node:path";
import { compose } from "../../src/cli/compose.ts";
import { readConfig } from "../../src/core/config.ts";
import { createEmptyHome } from "./empty-home.ts";

export function composeForTest(env: Readonly<Record<string, string>>) {
  const home = createEmptyHome();
  const config = readConfig({
    MIC_STATE_DIR: join(home.path, "state"),
    MIC_DOWNLOAD_DIR: join(home.path, "Downloads"),
    MIC_KEYCHAIN: "off",
    // Errors that a test provokes on purpose need no log line.
    MIC_LOG_LEVEL: "silent",
    ...env,
  });
  const { runtime, close } = compose({ config, notes: [], files: [], inProcess: false }, 1_000);
  return {
    runtime,
    async close() {
      await close();
      home.remove();
    },
  };
}
