// Reads and validates the settings of a deployment from its environment. docs/interface.md, "Teams" describes the variables.
import { readFileSync } from "node:fs";
import { type Config, readConfig, UsageError } from "../core/config.ts";
import { pickMicVariables, readVariables } from "../core/environment-variables.ts";
import { errorCode, errorMessage } from "../core/failure.ts";
import { isLoopbackHost } from "../core/loopback.ts";
import type { Right } from "./caller.ts";
import { readSecretKeys, type SecretKeys } from "./encryption.ts";
import {
  findMisplacedVariables,
  IGNORED_VARIABLES,
  REPLACED_VARIABLES,
  type TimeRange,
  type Values,
  variables,
} from "./variables.ts";

export interface SignInSettings {
  /** Identical to the claim `iss` of the tokens. */
  readonly issuer: string;
  /** An audience that is accepted at every path, in addition to the URL of the path. */
  readonly audience: string;
  readonly tokens: "jwt" | "introspection";
  /** The client of this deployment at its identity provider, for introspection. */
  readonly client: { readonly id: string; readonly secret: string } | undefined;
  /** The claim whose values are a caller's groups: its name, or a path with dots, such as `realm_access.roles` (default `groups`). */
  readonly teamClaim: string;
  /** The OAuth scope for each right, as the identity provider names it. */
  readonly scopes: Readonly<Record<Right, string>>;
  /** The scopes that clients request at sign-in (default: the scope for the right to read). */
  readonly signInScopes: readonly string[];
}

export interface DatabaseSettings {
  /** URLs of one database on the primary and its replicas, in any order. */
  readonly urls: readonly string[];
  /** Maximum number of connections (default 16). */
  readonly pool: number;
  /** "synchronous" (default), or "local" for one server without replicas, whose data only a backup protects. */
  readonly durability: "synchronous" | "local";
  /** Whether the tables are brought up to date at the start (default true). */
  readonly migrate: boolean;
}

/** The settings that every command of a deployment needs. */
export interface StoreSettings {
  /** The settings in common with `serve`. Credentials and workspaces belong to teams, and the journal is in the database. */
  readonly config: Config;
  readonly database: DatabaseSettings;
  readonly secretKeys: SecretKeys;
  /** Passwords, keys and the client secret, which the redactor removes from texts. */
  readonly secrets: readonly string[];
}

/** The settings of a deployment, except HTTP and sign-in. */
export interface DeploymentSettings extends StoreSettings {
  /** The origin of the URL that clients call: `https://mic.example.org`. */
  readonly publicOrigin: string;
  /** Maximum number of teams whose parts are cached (default 500). */
  readonly maxCachedTeams: number;
  /** Name of the group of instances that share the geography API's rate limit, because they share an address (default "default"). */
  readonly geographyBudget: string;
  /** Days for which rows of the audit are kept (default 90). */
  readonly auditDays: number;
  /** Content of files up to this size is part of the result (default 32 KiB). */
  readonly inlineBytes: number;
  /** Validity of a download link (default 600 s). */
  readonly downloadSeconds: number;
  /** The time range whose actions are missing in the journal after a restore. */
  readonly restoredAt: TimeRange | undefined;
}

export interface TeamsSettings extends DeploymentSettings {
  readonly signIn: SignInSettings;
  /** The balancers that end TLS, by address: their X-Forwarded-* headers are trusted. */
  readonly isTrustedProxy: ((address: string) => boolean) | undefined;
  /** Origins of web pages whose scripts may call this server. */
  readonly allowedOrigins: readonly string[];
  /** Maximum calls per minute, for each caller in each instance (default 120). */
  readonly callerRate: number;
  /** Maximum concurrent calls, for each caller in each instance (default 8). */
  readonly callerCalls: number;
  /** Time after a signal in which calls are still served and /readyz returns 503 (default 5 s). */
  readonly drainDelaySeconds: number;
  /** "ticket" (default): the link is sufficient. "bearer": the request also needs the caller's access token. */
  readonly downloadLinks: "ticket" | "bearer";
}

const HOW_TO_MAKE_KEYS = "one line `id base64-of-32-bytes` for each key (create a key with openssl rand -base64 32)";

/** Returns the keys, and the text that contains them. Throws UsageError. */
function readKeys({ MIC_SECRET_KEYS: inline, MIC_SECRET_KEYS_FILE: file }: Values) {
  if (inline !== undefined && file !== undefined)
    throw new UsageError("MIC_SECRET_KEYS and MIC_SECRET_KEYS_FILE are both set: set only one of them.");
  if (inline === undefined && file === undefined)
    throw new UsageError(
      `MIC_SECRET_KEYS_FILE is missing: set it to a file with ${HOW_TO_MAKE_KEYS}, or set MIC_SECRET_KEYS.`,
    );
  try {
    const text = inline ?? readFileSync(file ?? "", "utf8");
    return { keys: readSecretKeys(text), text };
  } catch (error) {
    const code = errorCode(error);
    const reason = code === "" ? errorMessage(error) : `the file cannot be read (${code})`;
    const name = file === undefined ? "MIC_SECRET_KEYS" : "MIC_SECRET_KEYS_FILE";
    throw new UsageError(`${name} contains no valid keys: ${reason}. It must contain ${HOW_TO_MAKE_KEYS}.`);
  }
}

/** Returns the password in a URL, both encoded and decoded. */
function passwordsIn(url: string): string[] {
  const { password } = new URL(url);
  try {
    return password === "" ? [] : [password, decodeURIComponent(password)];
  } catch {
    return [password];
  }
}

const DATABASE = { MIC_DATABASE_URL: "the URL of the PostgreSQL database that all instances share, postgres://…" };
const SIGN_IN = {
  MIC_PUBLIC_URL: "the URL that clients call, such as https://mic.example.org",
  MIC_AUTH_ISSUER: "the identity provider whose tokens are accepted, such as https://login.example.org",
};

/** Throws one UsageError that reports all errors. */
function readEnvironment(
  environment: NodeJS.ProcessEnv,
  needed: Readonly<Record<string, string>>,
  findFurtherErrors: (values: Values) => readonly string[],
) {
  const given = pickMicVariables(environment);
  const { values, errors: valueErrors } = readVariables(given, variables);
  const ownNames = new Set(Object.keys(values));
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
  const secretKeys = collectError(() => readKeys(values));
  errors.push(...valueErrors, ...findMisplacedVariables(given), ...findFurtherErrors(values));
  const shared = Object.entries(given).filter(
    ([name]) => !ownNames.has(name) && !(name in REPLACED_VARIABLES) && !IGNORED_VARIABLES.includes(name),
  );
  const config = collectError(() => readConfig({ ...Object.fromEntries(shared), MIC_KEYCHAIN: "off" }));
  if (!config || !secretKeys || errors.length > 0) throw new UsageError(errors.join("\n"));
  const noEffectWarnings = IGNORED_VARIABLES.filter((name) => given[name] !== undefined).map(
    (name) => `${name} has no effect with serve --teams.`,
  );
  const urls = values.MIC_DATABASE_URL ?? [];
  const store: StoreSettings = {
    config: { ...config, warnings: [...config.warnings, ...noEffectWarnings] },
    database: {
      urls,
      pool: values.MIC_DATABASE_POOL ?? 16,
      durability: values.MIC_DATABASE_DURABILITY ?? "synchronous",
      migrate: values.MIC_MIGRATE !== "off",
    },
    secretKeys: secretKeys.keys,
    secrets: [
      ...urls.flatMap(passwordsIn),
      ...secretKeys.text.split(/\s+/).filter((part) => /^[A-Za-z0-9+/]{43}=$/.test(part)),
      ...(values.MIC_AUTH_CLIENT_SECRET === undefined ? [] : [values.MIC_AUTH_CLIENT_SECRET]),
    ],
  };
  return { store, values };
}

/** Reads the settings of the commands that manage a deployment. Throws UsageError, which names every wrong variable and its fix. */
export const readStoreSettings = (environment: NodeJS.ProcessEnv): StoreSettings =>
  readEnvironment(environment, DATABASE, () => []).store;

function clientOf({ MIC_AUTH_CLIENT_ID: id, MIC_AUTH_CLIENT_SECRET: secret }: Values): SignInSettings["client"] {
  return id === undefined || secret === undefined ? undefined : { id, secret };
}

const UNTRUSTED_LOCAL_PROXY =
  "MIC_TRUST_PROXY does not contain 127.0.0.1, so the X-Forwarded-* headers of a load balancer on this machine are ignored.";

/**
 * Reads the settings of `serve --teams`. `host`: the address or name on which the server listens; undefined if it does not listen. Throws UsageError, which names every
 * wrong variable and its fix.
 */
export function readTeamsSettings(environment: NodeJS.ProcessEnv, host?: string): TeamsSettings {
  const { store, values } = readEnvironment(environment, { ...SIGN_IN, ...DATABASE }, (read) => [
    ...(read.MIC_AUTH_TOKENS === "introspection" && !clientOf(read)
      ? [
          "MIC_AUTH_TOKENS=introspection requires MIC_AUTH_CLIENT_ID and MIC_AUTH_CLIENT_SECRET, the credentials for introspection requests.",
        ]
      : []),
    ...(host === undefined || isLoopbackHost(host) || read.MIC_TRUST_PROXY
      ? []
      : [
          `MIC_TRUST_PROXY is missing: with --host ${host}, plain HTTP is accepted only from a load balancer that terminates TLS. Set MIC_TRUST_PROXY to its addresses.`,
        ]),
  ]);
  const { MIC_PUBLIC_URL: origin, MIC_AUTH_ISSUER: issuer } = values;
  if (origin === undefined || issuer === undefined)
    throw new UsageError("MIC_PUBLIC_URL and MIC_AUTH_ISSUER are missing.");
  const scopes = { read: values.MIC_AUTH_SCOPE_READ ?? "mic:read", act: values.MIC_AUTH_SCOPE_ACT ?? "mic:act" };
  const hasForeignProxy =
    host !== undefined && isLoopbackHost(host) && origin.startsWith("https:") && !values.MIC_TRUST_PROXY?.("127.0.0.1");
  return {
    ...store,
    config: {
      ...store.config,
      logLevel: environment["MIC_LOG_LEVEL"] ? store.config.logLevel : "info",
      warnings: [...store.config.warnings, ...(hasForeignProxy ? [UNTRUSTED_LOCAL_PROXY] : [])],
    },
    publicOrigin: origin,
    signIn: {
      issuer,
      audience: values.MIC_AUTH_AUDIENCE ?? `${origin}/mcp`,
      tokens: values.MIC_AUTH_TOKENS ?? "jwt",
      client: clientOf(values),
      teamClaim: values.MIC_AUTH_TEAM_CLAIM ?? "groups",
      scopes,
      signInScopes: values.MIC_AUTH_SIGN_IN_SCOPES ?? [scopes.read],
    },
    isTrustedProxy: values.MIC_TRUST_PROXY,
    allowedOrigins: values.MIC_ALLOWED_ORIGINS ?? [],
    callerRate: values.MIC_CALLER_RATE ?? 120,
    callerCalls: values.MIC_CALLER_CALLS ?? 8,
    maxCachedTeams: values.MIC_TEAM_CACHE_SIZE ?? 500,
    geographyBudget: values.MIC_GEOGRAPHY_BUDGET ?? "default",
    auditDays: values.MIC_AUDIT_DAYS ?? 90,
    drainDelaySeconds: values.MIC_DRAIN_DELAY_SECONDS ?? 5,
    inlineBytes: values.MIC_INLINE_BYTES ?? 32 * 1024,
    downloadSeconds: values.MIC_DOWNLOAD_SECONDS ?? 600,
    downloadLinks: values.MIC_DOWNLOAD_LINKS ?? "ticket",
    restoredAt: values.MIC_RESTORED_AT,
  };
}
