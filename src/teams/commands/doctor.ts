// Implements `mic-mcp doctor --teams`: checks the settings, the database, the identity provider and the teams of a deployment.
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { connect } from "node:tls";
import * as z from "zod/v4";
import { createTransport } from "../../api-client/transport.ts";
import {
  type Check,
  checkFromError,
  checkNode,
  checkProxy,
  checkWarnings,
  failedCheck,
  passedCheck,
  runCheck,
} from "../../cli/checks.ts";
import { UsageError } from "../../core/config.ts";
import { errorMessage } from "../../core/failure.ts";
import { isLoopbackHost } from "../../core/loopback.ts";
import { escapeText, quote } from "../../core/untrusted-text.ts";
import { createRedactor } from "../../credentials/redaction.ts";
import { isReadableByAll } from "../ca-files.ts";
import { type DeploymentDatabase, openDatabase } from "../database.ts";
import { createEncryption } from "../encryption.ts";
import { isResourceOf } from "../frontend/sign-in.ts";
import { type AccessTokens, createAccessTokens, readUnverifiedFacts } from "../oauth/access-tokens.ts";
import { readTeamsSettings, type TeamsSettings } from "../settings.ts";
import { createSecrets } from "../tenancy/secrets.ts";
import { createTeams } from "../tenancy/teams.ts";
import { checkTeam } from "./teams.ts";

const list = (values: readonly string[]): string =>
  values.length === 0 ? "none" : values.map((value) => quote(value)).join(", ");

/** Checks an access token in a file: the values that decide about access, the resulting team and rights, and the required values. */
async function checkAccessToken(
  file: string,
  { signIn, publicOrigin }: TeamsSettings,
  tokens: AccessTokens,
  { database }: DeploymentDatabase,
): Promise<Check> {
  try {
    const token = (await readFile(file, "utf8")).trim();
    const problems: string[] = [];
    const verified = await tokens.verify(token).catch((error: unknown) => void problems.push(errorMessage(error)));
    const caller = verified ?? undefined;
    const facts = caller ?? readUnverifiedFacts(token, signIn.teamClaim);
    const isForThisServer = facts?.audiences.some(
      (each) => each === signIn.audience || isResourceOf(publicOrigin, each),
    );
    const memberships = caller ? await createTeams(database).findByCaller(caller, caller.groups) : [];
    const teams = memberships.map(({ name }) => name);
    const rights = [...(caller?.rights ?? [])];
    if (facts && !isForThisServer) problems.push("The token was issued for another server.");
    if (caller && rights.length === 0) problems.push("It has none of the required scopes.");
    if (caller && teams.length === 0) problems.push("Its user is in no team.");
    const values = facts
      ? `issuer ${quote(facts.issuer)}; audiences ${list(facts.audiences)}; scopes ${list(facts.scopes)}; groups (${signIn.teamClaim}) ${list(facts.groups)}; teams ${list(teams)}; rights ${list(rights)}`
      : "it is not a JWT, so its values are unknown";
    const required = `issuer ${quote(signIn.issuer)}; audience ${list([...new Set([`${publicOrigin}/mcp`, signIn.audience])])}; scopes ${list(Object.values(signIn.scopes))}; a group that is the --claim of a team, or --member`;
    return problems.length === 0
      ? passedCheck("token", values)
      : failedCheck("token", `${problems.join(" ")} Its values: ${values}`, `Required: ${required}.`);
  } catch (error) {
    return checkFromError("token", error, "Use --token FILE with the path of a file that contains one access token.");
  }
}

/** Root can read files that the user of the service cannot read, so the check must not pass where the service fails. */
function checkCaFiles({ caFiles }: TeamsSettings): readonly Check[] {
  if (caFiles.length === 0) return [];
  const name = "private CA";
  const hidden = process.getuid?.() === 0 ? caFiles.filter(({ path }) => !isReadableByAll(path)) : [];
  const list = (files: typeof caFiles): string => files.map((file) => `${file.name} ${quote(file.path)}`).join(", ");
  if (hidden.length === 0) return [passedCheck(name, list(caFiles))];
  const detail = `root can read these files, but the user of a service (DynamicUser) cannot: ${list(hidden)}`;
  return [failedCheck(name, detail, "Put them into /etc/ssl/mic-mcp with mode 0644, and change the settings.")];
}

const ConnectionRow = z.object({ ssl: z.boolean(), address: z.string(), sees: z.boolean() });
const CONNECTION_SQL = `SELECT ssl, COALESCE(host(inet_server_addr()), '') AS address, pg_has_role(current_user, 'pg_monitor', 'USAGE') AS sees
  FROM pg_stat_ssl WHERE pid = pg_backend_pid()`;

/** Checks what a successful write does not show: whether the connection is encrypted, and whether the role can see replicas. */
async function checkConnection(
  { database: { urls } }: TeamsSettings,
  { database: { query } }: DeploymentDatabase,
): Promise<readonly Check[]> {
  try {
    const { ssl, address, sees } = ConnectionRow.parse((await query(CONNECTION_SQL))[0]);
    const hasOtherParameters = new Set(urls.map((url) => new URL(url).search)).size > 1;
    const isPlain = !ssl && address !== "" && !isLoopbackHost(address);
    return [
      hasOtherParameters
        ? failedCheck(
            "encryption",
            "the URLs of MIC_DATABASE_URL have different parameters, and each applies to its own URL only",
            "Give all URLs the same parameters, such as sslmode.",
          )
        : isPlain
          ? failedCheck(
              "encryption",
              `the connection to ${quote(address)} is not encrypted`,
              "Turn ssl on at the PostgreSQL servers, allow only hostssl in pg_hba.conf, and add sslmode=verify-full and sslrootcert to each URL.",
            )
          : passedCheck(
              "encryption",
              ssl ? "the connection to the database is encrypted" : "the database is on this machine",
            ),
      sees
        ? passedCheck("replicas", "the role can see which replicas confirm commits")
        : failedCheck(
            "replicas",
            "the role cannot see the replicas of PostgreSQL, so it is not checked whether one of them lacks commits",
            "Run GRANT pg_monitor TO mic on the primary.",
          ),
    ];
  } catch (error) {
    return [checkFromError("encryption", error, "Check MIC_DATABASE_URL.")];
  }
}

/** 14 days. */
const MIN_VALIDITY_MS = 14 * 86_400_000;
const CONNECT_MS = 5_000;

/** Returns the end of validity of the certificate at this address; undefined if no TLS server is reachable there. */
const readEnd = ({ hostname, port }: URL): Promise<number | undefined> =>
  new Promise((resolve) => {
    const host = hostname.replace(/^\[(.*)\]$/, "$1");
    // Clients verify the certificate. This check reads its end only, even if this machine does not know the CA.
    const socket = connect({
      host,
      port: Number(port === "" ? 443 : port),
      ...(isIP(host) === 0 && { servername: host }),
      rejectUnauthorized: false,
      timeout: CONNECT_MS,
    });
    const end = (endsAt?: number): void => {
      socket.destroy();
      resolve(endsAt);
    };
    socket.once("secureConnect", () => end(Date.parse(socket.getPeerCertificate().valid_to)));
    socket.once("timeout", () => end());
    socket.once("error", () => end());
  });

/** An unreachable balancer is not a failure: during the setup there is none, and instances may not be able to reach it. */
export async function checkCertificate(publicOrigin: string): Promise<readonly Check[]> {
  if (!publicOrigin.startsWith("https:")) return [];
  const endsAt = await readEnd(new URL(publicOrigin));
  if (endsAt === undefined)
    return [
      passedCheck("certificate", `${publicOrigin} cannot be reached from here, so its certificate was not checked`),
    ];
  const detail = `the certificate of ${publicOrigin} is valid until ${new Date(endsAt).toISOString()}`;
  const isShort = endsAt - Date.now() < MIN_VALIDITY_MS;
  return [
    isShort
      ? failedCheck("certificate", detail, "Replace it on the load balancer.")
      : passedCheck("certificate", detail),
  ];
}

async function checkTeams({ secretKeys }: TeamsSettings, { database }: DeploymentDatabase): Promise<readonly Check[]> {
  try {
    const all = await createTeams(database).list();
    if (all.length === 0) return [failedCheck("teams", "no teams exist", "Run mic-mcp teams add to create one.")];
    const secrets = createSecrets({ encryption: createEncryption(secretKeys), now: Date.now });
    const checks = await Promise.all(all.map((team) => checkTeam(team, { secrets })));
    return checks.map((check) => ({ ...check, name: `team ${check.name}` }));
  } catch (error) {
    return [checkFromError("teams", error, "Check MIC_DATABASE_URL.")];
  }
}

/** Returns the result of each check. Wrong settings count as one failed check, and later checks are skipped. */
export async function examineTeams(environment: NodeJS.ProcessEnv, tokenFile?: string): Promise<readonly Check[]> {
  let settings: TeamsSettings;
  try {
    settings = readTeamsSettings(environment);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return [checkNode(), checkFromError("settings", error, "Set or correct these variables.")];
  }
  const redactor = createRedactor();
  for (const secret of settings.secrets) redactor.add(secret);
  const deployment = openDatabase(settings);
  const transport = createTransport();
  const monotonicMs = () => performance.now();
  const tokens = createAccessTokens({ ...settings.signIn, transport, now: Date.now, monotonicMs });
  try {
    const checks = [
      checkNode(),
      checkWarnings(settings.config),
      ...checkCaFiles(settings),
      await runCheck(
        "database",
        () => deployment.check().then(() => "a durable write succeeded"),
        "Check MIC_DATABASE_URL and its PostgreSQL servers.",
      ),
      await runCheck(
        "sign-in",
        () => tokens.ready().then(() => `${settings.signIn.issuer} is reachable, and its tokens can be verified`),
        "Check that this machine can reach MIC_AUTH_ISSUER, and that it is identical to the iss claim of the access tokens.",
      ),
      ...(await checkConnection(settings, deployment)),
      ...(await checkCertificate(settings.publicOrigin)),
      ...(await checkTeams(settings, deployment)),
      ...(tokenFile === undefined ? [] : [await checkAccessToken(tokenFile, settings, tokens, deployment)]),
      checkProxy(environment),
    ];
    return checks.map((check) => ({ ...check, detail: redactor.redact(escapeText(check.detail)) }));
  } finally {
    await transport.close();
    await deployment.close();
  }
}
