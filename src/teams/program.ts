// What serves and looks after a deployment for teams: a part of its own (scripts/build.ts), which nobody else loads. It has a copy of all
// that it works with, errors included, and so tells itself what went wrong.
import type { Command } from "../cli/command-line/command.ts";
import { tell } from "../cli/command-line/told.ts";
import { COMMANDS } from "../cli/commands.ts";
import type { HttpFlags } from "../cli/serve-flags.ts";
import { examineTeams } from "./commands/doctor.ts";
import { migrate as runMigrate } from "./commands/migrate.ts";
import { serveTeams } from "./commands/serve.ts";
import { teams as runTeams } from "./commands/teams.ts";

async function told(command: Command, work: () => Promise<number>): Promise<number> {
  try {
    return await work();
  } catch (error) {
    return tell(error, command).code;
  }
}

export const serve = (environment: NodeJS.ProcessEnv, listen: HttpFlags): Promise<number> =>
  told(COMMANDS.serve, () => serveTeams(environment, listen));

export const teams = (args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> =>
  told(COMMANDS.teams, () => runTeams(args, environment));

export const migrate = (args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> =>
  told(COMMANDS.migrate, () => runMigrate(args, environment));

export { examineTeams };
