// `mic-mcp teams`: the teams of a deployment, their credentials and members. Instances at work hear of each change.
import { parseArgs } from "node:util";
import { callerId } from "../../caller.ts";
import { didYouMean } from "../../cli/command-line/nearest.ts";
import { COMMANDS, TEAM_ACTIONS } from "../../cli/commands.ts";
import { UsageError } from "../../config.ts";
import { json, quote } from "../../outside.ts";
import { type Audit, createAudit, operatorOf } from "../audit.ts";
import { openEngine } from "../engine.ts";
import { createSeals } from "../keys/encryption.ts";
import { createSecrets } from "../keys/team-secrets.ts";
import { readStoreSettings, type StoreSettings } from "../settings.ts";
import { createTeams, TEAM_NAME } from "../tenancy/teams.ts";
import { addTeam } from "./add.ts";
import type { Bench, TeamFlags } from "./bench.ts";
import { checkTeams } from "./check.ts";
import { listTeams } from "./list.ts";
import { removeTeam } from "./remove.ts";
import { rewrapTeams } from "./rewrap.ts";
import { rotateTeam } from "./rotate.ts";

type TeamAction = (typeof TEAM_ACTIONS)[number];

/** Throws UsageError. */
function actionOf(word: string | undefined): TeamAction {
  const action = TEAM_ACTIONS.find((each) => each === word);
  if (action) return action;
  const like = word === undefined ? "" : didYouMean(word, TEAM_ACTIONS);
  throw new UsageError(`mic-mcp teams takes one of ${TEAM_ACTIONS.join(", ")}.${like}`);
}

/** Throws UsageError. */
function nameOf(action: TeamAction, names: readonly string[]): string {
  const [name, ...more] = names;
  if (name === undefined || more.length > 0)
    throw new UsageError(`mic-mcp teams ${action} takes the name of one team.`);
  if (!TEAM_NAME.test(name))
    throw new UsageError(
      `${quote(name)} cannot be a team's name, which is part of a URL: 1 to 63 of a-z, 0-9 and -, none of - in front.`,
    );
  return name;
}

/** Throws UsageError. */
function refuseNames(action: TeamAction, names: readonly string[]): void {
  if (names.length > 0) throw new UsageError(`mic-mcp teams ${action} takes no team: it is about all of them.`);
}

async function run(action: TeamAction, names: readonly string[], flags: TeamFlags, bench: Bench): Promise<number> {
  switch (action) {
    case "add":
      return await addTeam(nameOf(action, names), flags, bench);
    case "remove":
      return await removeTeam(nameOf(action, names), flags, bench);
    case "rotate":
      return await rotateTeam(nameOf(action, names), flags, bench);
    case "check":
      return await checkTeams(names.length === 0 ? undefined : nameOf(action, names), flags, bench);
    case "list":
      refuseNames(action, names);
      return await listTeams(flags, bench);
    case "rewrap":
      refuseNames(action, names);
      return await rewrapTeams(bench);
  }
}

function benchOf(
  settings: StoreSettings,
  environment: NodeJS.ProcessEnv,
  { engine, audit }: { readonly engine: ReturnType<typeof openEngine>; readonly audit: Audit },
): Bench {
  return {
    teams: createTeams(engine.database),
    secrets: createSecrets({ seals: createSeals(settings.secretKeys), now: Date.now }),
    firstKey: settings.secretKeys.first,
    baseUrl: settings.config.baseUrl,
    issuer: environment["MIC_AUTH_ISSUER"] || undefined,
    changed(team, what, who) {
      const resourceId = who && callerId(who.issuer, who.subject);
      audit.write(operatorOf(team), { event: "team", outcome: what, ...(resourceId !== undefined && { resourceId }) });
    },
    say: (text) => void process.stdout.write(`${text}\n`),
  };
}

/** Throws UsageError, and Failure where the database cannot be used or credentials are refused. */
export async function teams(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: COMMANDS.teams.flags,
    allowPositionals: true,
  });
  const [word, ...names] = positionals;
  const action = actionOf(word);
  const settings = readStoreSettings(environment);
  const engine = openEngine(settings);
  const audit = createAudit(engine.journal, {
    warn: (facts, message) => void process.stderr.write(`${message}: ${json(facts)}\n`),
  });
  try {
    return await run(action, names, values, benchOf(settings, environment, { engine, audit }));
  } finally {
    await audit.written();
    await engine.close();
  }
}
