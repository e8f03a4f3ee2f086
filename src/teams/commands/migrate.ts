// `mic-mcp migrate`: brings the tables of a deployment for teams up to date, before the instances of a new version start.
import { parseArgs } from "node:util";
import { COMMANDS } from "../../cli/commands.ts";
import { openEngine } from "../engine.ts";
import { readStoreSettings } from "../settings.ts";

/** Throws UsageError, and Failure where the database cannot be used. */
export async function migrate(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  parseArgs({ args: [...args], options: COMMANDS.migrate.flags });
  const engine = openEngine(readStoreSettings(environment));
  try {
    await engine.migrate();
  } finally {
    await engine.close();
  }
  process.stdout.write("The tables are up to date.\n");
  return 0;
}
