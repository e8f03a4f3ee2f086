// What the commands of a person work with: the catalogue in this process, as a server has it, until Ctrl-C.

import { type Config, readConfig } from "../config.ts";
import { COMMAND_LIMIT_MS } from "../credentials/keychain/keychain.ts";
import type { Runtime } from "../mcp/runtime.ts";
import { backendOf } from "./backend.ts";
import { compose } from "./local.ts";
import { SIGNALS } from "./signals.ts";

export interface AtWork {
  readonly runtime: Runtime;
  /** Aborted by the first Ctrl-C; a second one ends the process. */
  readonly signal: AbortSignal;
}

/** Throws UsageError for a wrong setting. */
export async function withCatalogue(
  environment: NodeJS.ProcessEnv,
  work: (at: AtWork) => Promise<number>,
): Promise<number> {
  const config: Config = readConfig(environment);
  for (const warning of config.warnings) process.stderr.write(`mic-mcp: ${warning}\n`);
  const backend = await backendOf(config);
  const { runtime, close } = compose(backend.config, {
    notes: backend.notes,
    inProcess: config.emulator,
    keychainLimitMs: COMMAND_LIMIT_MS,
  });
  const stopped = new AbortController();
  const stop = () => {
    if (stopped.signal.aborted) process.exit(1);
    stopped.abort();
  };
  for (const signal of SIGNALS) process.on(signal, stop);
  try {
    return await work({ runtime, signal: stopped.signal });
  } finally {
    for (const signal of SIGNALS) process.off(signal, stop);
    await close();
    await backend.close();
  }
}
