// A server composed in the process that asks for it, with a home of its own.
import { join } from "node:path";
import { compose } from "../../src/cli/compose.ts";
import { readConfig } from "../../src/core/config.ts";
import { createEmptyHome } from "./empty-home.ts";

/** All that a server is made of, served by nobody yet. */
export function composeForTest(env: Readonly<Record<string, string>>) {
  const home = createEmptyHome();
  const config = readConfig({
    MIC_STATE_DIR: join(home.path, "state"),
    MIC_DOWNLOAD_DIR: join(home.path, "Downloads"),
    MIC_KEYCHAIN: "off",
    // What a test provokes is no news to whoever runs it.
    MIC_LOG_LEVEL: "silent",
    ...env,
  });
  const options = { notes: [], inProcess: false, keychainLimitMs: 1_000 };
  const { runtime, close } = compose(config, options);
  return {
    runtime,
    async close() {
      await close();
      home.remove();
    },
  };
}
