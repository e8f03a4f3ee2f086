// This is the entry point of a deployment's code, which src/cli/ loads on demand. The build bundles it separately (scripts/build.ts), with
// copies of all imports. Error classes are copied too, so errors are reported here and not in src/cli/.
import type { Command, HttpFlags, RunCommand } from "../cli/commands.ts";
import { COMMANDS } from "../cli/commands.ts";
import { reportError } from "../cli/errors.ts";
import { serveTeams } from "./commands/serve.ts";
import { migrate as runMigrate, teams as runTeams } from "./commands/teams.ts";

export { examineTeams } from "./commands/doctor.ts";

async function runWithErrorReport(command: Command, work: () => Promise<number>): Promise<number> {
  try {
    return await work();
  } catch (error) {
    return reportError(error, command).code;
  }
}

export const serve = (environment: NodeJS.ProcessEnv, listen: HttpFlags): Promise<number> =>
  runWithErrorReport(COMMANDS.serve, () => serveTeams(environment, listen));

export const teams: RunCommand<"teams"> = (args, environment) =>
  runWithErrorReport(COMMANDS.teams, () => runTeams(args, environment));

export const migrate: RunCommand<"migrate"> = (args, environment) =>
  runWithErrorReport(COMMANDS.migrate, () => runMigrate(args, environment));
