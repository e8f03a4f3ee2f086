// Implements `mic-mcp doctor --teams`: checks the settings, the database, the identity provider and the teams of a deployment.
import { createTransport } from "../../api-client/transport.ts";
import { type Check, checkNode, checkProxy, checkWarnings } from "../../cli/checks.ts";
import { rephraseFailureForUser } from "../../cli/errors.ts";
import { UsageError } from "../../core/config.ts";
import { errorMessage, Failure } from "../../core/failure.ts";
import { escapeText } from "../../core/untrusted-text.ts";
import { createRedactor } from "../../credentials/redaction.ts";
import { type DeploymentDatabase, openDatabase } from "../database.ts";
import { createEncryption } from "../encryption.ts";
import { createAccessTokens } from "../oauth/access-tokens.ts";
import { readTeamsSettings, type TeamsSettings } from "../settings.ts";
import { createSecrets } from "../tenancy/secrets.ts";
import { createTeams } from "../tenancy/teams.ts";
import { checkTeam } from "./teams.ts";

const passedCheck = (name: string, detail: string): Check => ({ name, ok: true, detail });

function failedCheck(name: string, error: unknown, fix: string): Check {
  const next = error instanceof Failure ? rephraseFailureForUser(error.facts).next : undefined;
  return { name, ok: false, detail: errorMessage(error), fix: next ?? fix };
}

async function checkDatabase({ database: { query } }: DeploymentDatabase): Promise<Check> {
  try {
    await query("SELECT 1");
    return passedCheck("database", "reachable, and its tables exist");
  } catch (error) {
    return failedCheck("database", error, "Check MIC_DATABASE_URL and its PostgreSQL servers.");
  }
}

async function checkProvider({ signIn }: TeamsSettings): Promise<Check> {
  const transport = createTransport();
  try {
    const monotonicMs = () => performance.now();
    await createAccessTokens({ ...signIn, transport, now: Date.now, monotonicMs }).ready();
    return passedCheck("sign-in", `${signIn.issuer} is reachable, and its tokens can be verified`);
  } catch (error) {
    return failedCheck(
      "sign-in",
      error,
      "Check MIC_AUTH_ISSUER: it must be identical to the iss claim of the access tokens.",
    );
  } finally {
    await transport.close();
  }
}

async function checkTeams({ secretKeys }: TeamsSettings, { database }: DeploymentDatabase): Promise<readonly Check[]> {
  try {
    const all = await createTeams(database).list();
    if (all.length === 0)
      return [{ name: "teams", ok: false, detail: "no teams exist", fix: "Run mic-mcp teams add to create one." }];
    const secrets = createSecrets({ encryption: createEncryption(secretKeys), now: Date.now });
    const checks = await Promise.all(all.map((team) => checkTeam(team, { secrets }, true)));
    return checks.map(({ team, ...check }) => ({ ...check, name: `team ${team}` }));
  } catch (error) {
    return [failedCheck("teams", error, "Check MIC_DATABASE_URL.")];
  }
}

/** Returns the result of each check. Wrong settings count as one failed check, and later checks are skipped. */
export async function examineTeams(environment: NodeJS.ProcessEnv): Promise<readonly Check[]> {
  let settings: TeamsSettings;
  try {
    settings = readTeamsSettings(environment);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return [checkNode(), failedCheck("settings", error, "Set or correct these variables (docs/interface.md, Teams).")];
  }
  const redactor = createRedactor();
  for (const secret of settings.secrets) redactor.add(secret);
  const deployment = openDatabase(settings);
  try {
    const database = await checkDatabase(deployment);
    const checks = [
      checkNode(),
      checkWarnings(settings.config),
      database,
      await checkProvider(settings),
      ...(database.ok ? await checkTeams(settings, deployment) : []),
      checkProxy(environment),
    ];
    return checks.map((check) => ({ ...check, detail: redactor.redact(escapeText(check.detail)) }));
  } finally {
    await deployment.close();
  }
}
