// Reads and validates the settings of a deployment from its environment. docs/operate/configuration.md describes the variables.
import { readFileSync } from "node:fs";
import { readConfig, UsageError } from "../core/config.ts";
import {
  oneOf,
  pathIn,
  pickMicVariables,
  printable,
  type ReadVariable,
  readVariables,
  wholeNumber,
} from "../core/environment-variables.ts";
import { errorCode, errorMessage } from "../core/failure.ts";
import { isLoopbackHost } from "../core/loopback.ts";
import { percentDecode } from "../core/percent-decode.ts";
import { findReadError, listCaFiles } from "./ca-files.ts";
import type { Right } from "./caller.ts";
import { readSecretKeys } from "./encryption.ts";
import {
  findMisplacedVariables,
  IGNORED_VARIABLES,
  issuerUrl,
  origins,
  postgresUrls,
  publicOrigin,
  REPLACED_VARIABLES,
  scopeList,
  scopeToken,
  timeRange,
  trustedAddresses,
} from "./variables.ts";

/** Reads the variables of a deployment. Required variables that are missing have empty values, which `readEnvironment` never returns. */
export function readDeploymentVariables(read: ReadVariable, environment: NodeJS.ProcessEnv) {
  const origin = read("MIC_PUBLIC_URL", publicOrigin) ?? "";
  const scopes = {
    read: read("MIC_AUTH_SCOPE_READ", scopeToken) ?? "mic:read",
    write: read("MIC_AUTH_SCOPE_WRITE", scopeToken) ?? "mic:write",
  } satisfies Record<Right, string>;
  return {
    /** The origin of the URL that clients call: `https://mic.example.org`. */
    publicOrigin: origin,
    signIn: {
      /** Identical to the claim `iss` of the tokens. */
      issuer: read("MIC_AUTH_ISSUER", issuerUrl) ?? "",
      /** An audience that is accepted at every path, in addition to the URL of the path. */
      audience: read("MIC_AUTH_AUDIENCE", printable) ?? `${origin}/mcp`,
      /** The claim whose values are a caller's groups: its name, or a path with dots, such as `realm_access.roles` (default `groups`). */
      teamClaim: read("MIC_AUTH_TEAM_CLAIM", printable) ?? "groups",
      /** The OAuth scope for each right, as the identity provider names it. */
      scopes,
      /** The scopes that clients request at sign-in (default: the scope for the right to read). */
      signInScopes: read("MIC_AUTH_SIGN_IN_SCOPES", scopeList) ?? [scopes.read],
    },
    database: {
      /** URLs of one database on the primary and its replicas, in any order. */
      urls: read("MIC_DATABASE_URL", postgresUrls) ?? [],
      /** Maximum number of connections (default 16). */
      pool: read("MIC_DATABASE_POOL", wholeNumber(2, 1_000)) ?? 16,
      /** "synchronous" (default), or "local" for one server without replicas, whose data only a backup protects. */
      durability:
        read("MIC_DATABASE_DURABILITY", oneOf(["synchronous", "local"], "synchronous or local")) ?? "synchronous",
      /** Whether the tables are brought up to date at the start (default true). */
      migrate: read("MIC_MIGRATE", oneOf(["auto", "off"], "auto or off")) !== "off",
    },
    keyFile: read("MIC_SECRET_KEYS_FILE", pathIn(environment, { isShown: false })),
    /** The balancers that end TLS, by address: their X-Forwarded-* headers are trusted. */
    isTrustedProxy: read("MIC_TRUST_PROXY", trustedAddresses),
    /** Origins of web pages whose scripts may call this server. */
    allowedOrigins: read("MIC_ALLOWED_ORIGINS", origins) ?? [],
    /** Maximum calls per minute, for each caller in each instance (default 120). */
    callerRateLimit: read("MIC_CALLER_RATE_LIMIT", wholeNumber(1, 100_000)) ?? 120,
    /** Days for which rows of the audit are kept (default 90). */
    auditRetentionDays: read("MIC_AUDIT_RETENTION_DAYS", wholeNumber(1, 3650)) ?? 90,
    /** Time after a signal in which calls are still served and /readyz returns 503 (default 5 s). */
    drainDelaySeconds: read("MIC_DRAIN_DELAY_SECONDS", wholeNumber(0, 300)) ?? 5,
    /** The time range whose actions are missing in the journal after a restore. */
    restoreGap: read("MIC_RESTORE_GAP", timeRange),
  };
}
type Values = ReturnType<typeof readDeploymentVariables>;

export type TeamsSettings = ReturnType<typeof readTeamsSettings>;
export type SignInSettings = Values["signIn"];
export type DatabaseSettings = Values["database"];
/** The settings that every command of a deployment needs. */
export type StoreSettings = Pick<
  TeamsSettings,
  "config" | "database" | "secretKeys" | "secrets" | "auditRetentionDays"
>;
/** The settings of a deployment, except HTTP and sign-in. */
export type DeploymentSettings = StoreSettings & Pick<TeamsSettings, "publicOrigin" | "restoreGap">;

const HOW_TO_MAKE_KEYS = "one line `id base64-of-32-bytes` for each key (create a key with openssl rand -base64 32)";

function readKeys(file: string | undefined) {
  if (file === undefined)
    throw new UsageError(`MIC_SECRET_KEYS_FILE is missing: set it to a file with ${HOW_TO_MAKE_KEYS}.`);
  try {
    const text = readFileSync(file, "utf8");
    return { keys: readSecretKeys(text), text };
  } catch (error) {
    const code = errorCode(error);
    const reason = code === "" ? errorMessage(error) : `the file cannot be read (${code})`;
    throw new UsageError(
      `MIC_SECRET_KEYS_FILE contains no valid keys: ${reason}. It must contain ${HOW_TO_MAKE_KEYS}.`,
    );
  }
}

function passwordsIn(url: string): string[] {
  const { password } = new URL(url);
  return password === "" ? [] : [password, percentDecode(password) ?? password];
}

const DATABASE = { MIC_DATABASE_URL: "the URL of the PostgreSQL database that all instances share, postgres://…" };
const SIGN_IN = {
  MIC_PUBLIC_URL: "the URL that clients call, such as https://mic.example.org",
  MIC_AUTH_ISSUER: "the identity provider whose tokens are accepted, such as https://login.example.org",
};

/** `host`: undefined if the server does not listen. Throws one UsageError that reports all errors. */
function readEnvironment(environment: NodeJS.ProcessEnv, needed: Readonly<Record<string, string>>, host?: string) {
  const given = pickMicVariables(environment);
  const {
    values,
    errors: valueErrors,
    unknown,
  } = readVariables(given, (read) => readDeploymentVariables(read, environment));
  const errors = Object.entries(needed).flatMap(([name, what]) =>
    given[name] === undefined ? [`${name} is missing: ${what}.`] : [],
  );
  function collectError<T>(read: () => T): T | undefined {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      errors.push(error.message);
      return undefined;
    }
  }
  const { keyFile, ...settings } = values;
  const secretKeys = collectError(() => readKeys(keyFile));
  const caFiles = listCaFiles(environment, values.database.urls);
  errors.push(...valueErrors, ...findMisplacedVariables(given));
  if (host !== undefined && !isLoopbackHost(host) && !values.isTrustedProxy)
    errors.push(
      `MIC_TRUST_PROXY is missing: with --host ${host}, plain HTTP is accepted only from a load balancer that terminates TLS. Set MIC_TRUST_PROXY to its addresses.`,
    );
  errors.push(...caFiles.flatMap((file) => findReadError(file) ?? []));
  const shared = unknown.filter((name) => !(name in REPLACED_VARIABLES) && !IGNORED_VARIABLES.includes(name));
  const config = collectError(() =>
    // A deployment stores no files, so its user needs no home folder.
    readConfig({ ...Object.fromEntries(shared.map((name) => [name, given[name]])), MIC_KEYCHAIN: "off", HOME: "/" }),
  );
  if (!config || !secretKeys || errors.length > 0) throw new UsageError(errors.join("\n"));
  const noEffectWarnings = IGNORED_VARIABLES.filter((name) => given[name] !== undefined).map(
    (name) => `${name} has no effect with serve --teams.`,
  );
  return {
    ...settings,
    /** The settings in common with `serve`. Credentials and workspaces belong to teams, and the journal is in the database. */
    config: { ...config, warnings: [...config.warnings, ...noEffectWarnings] },
    secretKeys: secretKeys.keys,
    caFiles,
    /** Passwords and keys, which the redactor removes from texts. */
    secrets: [
      ...settings.database.urls.flatMap(passwordsIn),
      ...secretKeys.text.split(/\s+/).filter((part) => /^[A-Za-z0-9+/]{43}=$/.test(part)),
    ],
  };
}

/** Reads the settings of the commands that manage a deployment. Throws UsageError, which names every wrong variable and its fix. */
export const readStoreSettings = (environment: NodeJS.ProcessEnv): StoreSettings =>
  readEnvironment(environment, DATABASE);

const UNTRUSTED_LOCAL_PROXY =
  "MIC_TRUST_PROXY does not contain 127.0.0.1, so the X-Forwarded-* headers of a load balancer on this machine are ignored.";

/** `host`: undefined if the server does not listen. Throws UsageError, which names every wrong variable and its fix. */
export function readTeamsSettings(environment: NodeJS.ProcessEnv, host?: string) {
  const settings = readEnvironment(environment, { ...SIGN_IN, ...DATABASE }, host);
  const { config, publicOrigin: origin, isTrustedProxy } = settings;
  const hasForeignProxy =
    host !== undefined && isLoopbackHost(host) && origin.startsWith("https:") && !isTrustedProxy?.("127.0.0.1");
  return {
    ...settings,
    config: {
      ...config,
      logLevel: environment["MIC_LOG_LEVEL"] ? config.logLevel : "info",
      warnings: [...config.warnings, ...(hasForeignProxy ? [UNTRUSTED_LOCAL_PROXY] : [])],
    },
  };
}
