// What a deployment for teams is told by its environment, as validated objects. Names and meaning: docs/interface.md, "Teams".
import { readFileSync } from "node:fs";
import type { BlockList } from "node:net";
import { readSecretKeys, type SecretKeys } from "../auth/seals.ts";
import type { Right } from "../caller.ts";
import { type Config, readConfig, UsageError } from "../config.ts";
import { errorCode, reasonOf } from "../failure.ts";
import { isLoopback } from "../loopback.ts";
import { givenVariables, readVariables } from "../variables.ts";
import type { Span } from "./readers.ts";
import { ELSEWHERE, IN_VAIN, misplaced, type Values, variables } from "./variables.ts";

export interface SignInSettings {
  /** Exactly as tokens name it. */
  readonly issuer: string;
  /** An audience that is accepted at every path, beside the URL of the path. */
  readonly audience: string;
  readonly tokens: "jwt" | "introspection";
  /** What this deployment is to its identity provider: for introspection. */
  readonly client: { readonly id: string; readonly secret: string } | undefined;
  /** The claim whose values are a caller's groups: its name, or a path to it with dots. */
  readonly teamClaim: string;
  readonly scopes: Readonly<Record<Right, string>>;
}

export interface DatabaseSettings {
  /** The primary's and its replicas', in any order. */
  readonly urls: readonly string[];
  readonly pool: number;
  /** "local": one server without replicas is meant. */
  readonly durability: "synchronous" | "local";
  /** Whether a start brings the tables up to date. */
  readonly migrate: boolean;
}

/** What every command on a deployment needs. */
export interface StoreSettings {
  /** What `serve` knows as well. Its credentials, workspace, folders and journal are a team's here, or the database's. */
  readonly config: Config;
  readonly database: DatabaseSettings;
  readonly secretKeys: SecretKeys;
  /** Not to be shown, whatever happens: for the redactor. */
  readonly secrets: readonly string[];
}

export interface TeamsSettings extends StoreSettings {
  /** An address or a name of this machine. */
  readonly host: string;
  /** Of the URL that clients call. */
  readonly publicOrigin: string;
  readonly signIn: SignInSettings;
  /** Whose X-Forwarded-* are believed. */
  readonly trustedProxies: BlockList | undefined;
  readonly allowedOrigins: readonly string[];
  /** For each caller, in each instance: calls a minute, and at once. */
  readonly callerRate: number;
  readonly callerCalls: number;
  /** Runtimes that are kept, of teams and callers lately seen. */
  readonly teamsAtHand: number;
  /** Who shares the playground's minute: the instances whose requests leave by one address. */
  readonly geographyBudget: string;
  readonly auditDays: number;
  readonly drainDelaySeconds: number;
  readonly inlineBytes: number;
  readonly downloadSeconds: number;
  /** "bearer": a link is opened with the caller's token as well. */
  readonly downloadLinks: "ticket" | "bearer";
  /** What a restored backup has forgotten. */
  readonly restoredAt: Span | undefined;
}

const missing = (values: Values, names: Readonly<Partial<Record<keyof Values, string>>>, wrong: readonly string[]) =>
  Object.entries(names).flatMap(([name, what]) => {
    const value = Object.entries(values).find(([each]) => each === name)?.[1];
    const isSaid = wrong.some((sentence) => sentence.startsWith(`${name} `));
    return value !== undefined || isSaid ? [] : [`${name} is missing: ${what}.`];
  });

interface Keys {
  readonly keys?: SecretKeys;
  readonly text?: string;
  readonly wrong?: string;
}

const HOW_TO_MAKE_KEYS =
  "a line `id base64-of-32-bytes` for each key (openssl rand -base64 32 makes one), in MIC_SECRET_KEYS_FILE or MIC_SECRET_KEYS";

function readKeys({ MIC_SECRET_KEYS: inline, MIC_SECRET_KEYS_FILE: file }: Values): Keys {
  if (inline !== undefined && file !== undefined)
    return { wrong: "MIC_SECRET_KEYS and MIC_SECRET_KEYS_FILE are both set: set one of them." };
  const name = file === undefined ? "MIC_SECRET_KEYS" : "MIC_SECRET_KEYS_FILE";
  try {
    const text = file === undefined ? inline : readFileSync(file, "utf8");
    if (text === undefined) return { wrong: `MIC_SECRET_KEYS_FILE is missing: ${HOW_TO_MAKE_KEYS}.` };
    return { keys: readSecretKeys(text), text };
  } catch (error) {
    const code = errorCode(error);
    const reason = code === "" ? reasonOf(error) : `the file cannot be read (${code})`;
    return { wrong: `${name} holds no keys: ${reason}. It takes ${HOW_TO_MAKE_KEYS}.` };
  }
}

/** Both spellings of a password in a URL; what cannot be decoded stands as it is. */
function passwordsIn(url: string): string[] {
  const { password } = new URL(url);
  try {
    return password === "" ? [] : [password, decodeURIComponent(password)];
  } catch {
    return [password];
  }
}

const DATABASE = { MIC_DATABASE_URL: "the PostgreSQL that all instances share, postgres://…" };
const SIGN_IN = {
  MIC_PUBLIC_URL: "the URL that clients call, such as https://mic.example.org",
  MIC_AUTH_ISSUER: "the identity provider whose tokens are accepted, such as https://login.example.org",
};

/** Everything that is wrong is told at once. Throws UsageError. */
function readAll(
  environment: NodeJS.ProcessEnv,
  needed: Readonly<Partial<Record<keyof Values, string>>>,
  more: (values: Values) => readonly string[],
) {
  const given = givenVariables(environment);
  const { values, wrong } = readVariables(given, variables);
  const own = new Set(Object.keys(values));
  const { keys, text = "", wrong: keysWrong } = readKeys(values);
  const refused = [
    ...missing(values, needed, wrong),
    ...(keysWrong === undefined ? [] : [keysWrong]),
    ...wrong,
    ...misplaced(given),
    ...more(values),
  ];
  let config: Config | undefined;
  try {
    const shared = Object.entries(given).filter(
      ([name]) => !own.has(name) && !(name in ELSEWHERE) && !IN_VAIN.includes(name),
    );
    config = readConfig({ ...Object.fromEntries(shared), MIC_KEYCHAIN: "off" });
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    refused.push(error.message);
  }
  if (!config || !keys || refused.length > 0) throw new UsageError(refused.join("\n"));
  const idle = IN_VAIN.filter((name) => given[name] !== undefined).map(
    (name) => `${name} has no effect on serve --teams.`,
  );
  const urls = values.MIC_DATABASE_URL ?? [];
  const store: StoreSettings = {
    config: { ...config, warnings: [...config.warnings, ...idle] },
    database: {
      urls,
      pool: values.MIC_DATABASE_POOL ?? 16,
      durability: values.MIC_DATABASE_DURABILITY ?? "synchronous",
      migrate: values.MIC_MIGRATE !== "off",
    },
    secretKeys: keys,
    secrets: [
      ...urls.flatMap(passwordsIn),
      ...text.split(/\s+/).filter((word) => /^[A-Za-z0-9+/]{43}=$/.test(word)),
      ...(values.MIC_AUTH_CLIENT_SECRET === undefined ? [] : [values.MIC_AUTH_CLIENT_SECRET]),
    ],
  };
  return { store, values };
}

/** For the commands that look after a deployment. Throws UsageError, which names every wrong variable and what mends it. */
export const readStoreSettings = (environment: NodeJS.ProcessEnv): StoreSettings =>
  readAll(environment, DATABASE, () => []).store;

function clientOf({ MIC_AUTH_CLIENT_ID: id, MIC_AUTH_CLIENT_SECRET: secret }: Values): SignInSettings["client"] {
  return id === undefined || secret === undefined ? undefined : { id, secret };
}

/** `host`: what is listened on. Throws UsageError, which names every wrong variable and what mends it. */
export function readTeamsSettings(environment: NodeJS.ProcessEnv, host = "127.0.0.1"): TeamsSettings {
  const isOfThisMachine = host === "localhost" || isLoopback(host.replace(/^\[(.*)\]$/, "$1"));
  const { store, values } = readAll(environment, { ...SIGN_IN, ...DATABASE }, (read) => [
    ...(read.MIC_AUTH_TOKENS === "introspection" && !clientOf(read)
      ? [
          "MIC_AUTH_TOKENS=introspection needs MIC_AUTH_CLIENT_ID and MIC_AUTH_CLIENT_SECRET: who asks the identity provider about tokens.",
        ]
      : []),
    ...(isOfThisMachine || read.MIC_TRUST_PROXY
      ? []
      : [
          `MIC_TRUST_PROXY is missing: beyond this machine (--host ${host}) plain http is taken from a balancer that ends TLS alone; name its addresses.`,
        ]),
  ]);
  const { MIC_PUBLIC_URL: origin, MIC_AUTH_ISSUER: issuer } = values;
  if (origin === undefined || issuer === undefined)
    throw new UsageError("MIC_PUBLIC_URL and MIC_AUTH_ISSUER are missing.");
  return {
    ...store,
    host,
    publicOrigin: origin,
    signIn: {
      issuer,
      audience: values.MIC_AUTH_AUDIENCE ?? `${origin}/mcp`,
      tokens: values.MIC_AUTH_TOKENS ?? "jwt",
      client: clientOf(values),
      teamClaim: values.MIC_AUTH_TEAM_CLAIM ?? "groups",
      scopes: { read: values.MIC_AUTH_SCOPE_READ ?? "mic:read", act: values.MIC_AUTH_SCOPE_ACT ?? "mic:act" },
    },
    trustedProxies: values.MIC_TRUST_PROXY,
    allowedOrigins: values.MIC_ALLOWED_ORIGINS ?? [],
    callerRate: values.MIC_CALLER_RATE ?? 120,
    callerCalls: values.MIC_CALLER_CALLS ?? 8,
    teamsAtHand: values.MIC_TEAMS_AT_HAND ?? 500,
    geographyBudget: values.MIC_GEOGRAPHY_BUDGET ?? "default",
    auditDays: values.MIC_AUDIT_DAYS ?? 365,
    drainDelaySeconds: values.MIC_DRAIN_DELAY_SECONDS ?? 5,
    inlineBytes: values.MIC_INLINE_BYTES ?? 32 * 1024,
    downloadSeconds: values.MIC_DOWNLOAD_SECONDS ?? 600,
    downloadLinks: values.MIC_DOWNLOAD_LINKS ?? "ticket",
    restoredAt: values.MIC_RESTORED_AT,
  };
}
