// Collects the first part of `mic-mcp doctor`: the settings and their sources, the keychain with its tokens, and the journal, but no secrets.
import type { JournalHandle } from "../actions/journal-handle.ts";
import type { Config } from "../core/config.ts";
import { errorMessage } from "../core/failure.ts";
import { escapeText } from "../core/untrusted-text.ts";
import { type Keychain, KeychainError } from "../credentials/keychain/keychain.ts";
import { listProfiles, readLogin, type StoredLogin, scopeSets, type TokenOwner } from "../credentials/login.ts";
import { readToken } from "../credentials/token-store.ts";
import { inspectJournal, locateJournal } from "./journal.ts";

interface Setting {
  /** Absent for secrets. */
  readonly value?: string;
  readonly from: string;
}

function toSetting(environment: string | undefined, stored: string | undefined): Setting {
  if (environment !== undefined) return { value: environment, from: "environment" };
  return stored === undefined ? { from: "not set" } : { value: stored, from: "keychain" };
}

function secretOrigin({ credentials }: Config, login: StoredLogin | undefined): string {
  if (credentials === undefined) return login ? "keychain" : "not set";
  if (typeof credentials.clientSecret === "string") return "environment";
  return "file" in credentials.clientSecret ? "file in MIC_CLIENT_SECRET_FILE" : "program in MIC_CLIENT_SECRET_COMMAND";
}

/** Reads the tokens of a client. `expiresInSeconds`: absent if the API returned no lifetime; negative after expiry. */
async function readTokens(keychain: Keychain, owner: TokenOwner) {
  const secondsUntil = (instant: number): number => Math.round((instant - Date.now()) / 1000);
  const tokens = [];
  for (const scopes of scopeSets) {
    const token = await readToken(keychain, owner, scopes);
    if (!token) continue;
    const { obtainedAt, expiresAt } = token;
    const expiry = expiresAt === undefined ? {} : { expiresInSeconds: secondsUntil(expiresAt) };
    tokens.push({ scopes: scopes.join(" "), ageSeconds: -secondsUntil(obtainedAt), ...expiry });
  }
  return tokens;
}
type TokenStatus = Awaited<ReturnType<typeof readTokens>>[number];

async function readKeychain(config: Config, keychain: Keychain | undefined) {
  const nothing = { login: undefined, tokens: [], profiles: [], detail: undefined };
  if (!keychain) return { ...nothing, state: "off" };
  try {
    const stored = await readLogin(keychain, config.profile);
    // A login for a base URL other than MIC_BASE_URL is not used (src/credentials/identity.ts).
    const isOther = stored && config.baseUrl !== undefined && stored.baseUrl !== config.baseUrl;
    const login = isOther ? undefined : stored;
    const baseUrl = config.baseUrl ?? login?.baseUrl;
    const clientId = config.credentials?.clientId ?? login?.clientId;
    const hasOwner = baseUrl !== undefined && clientId !== undefined;
    return {
      login,
      detail: isOther ? `has a login for ${stored.baseUrl}, not used because MIC_BASE_URL is different` : undefined,
      tokens: hasOwner ? await readTokens(keychain, { baseUrl, clientId }) : [],
      // Some keychains cannot list their entries.
      profiles: await listProfiles(keychain).catch(() => []),
      state: "available",
    };
  } catch (error) {
    if (!(error instanceof KeychainError)) throw error;
    return { ...nothing, state: error.kind, detail: error.message };
  }
}

/** `keychain`: undefined with MIC_KEYCHAIN=off, or if the API is emulated. `variables`: the names of those that are set. */
export async function collectSettings(
  config: Config,
  variables: readonly string[],
  keychain: Keychain | undefined,
  journal: JournalHandle,
) {
  const { login, tokens, profiles, state, detail } = await readKeychain(config, keychain);
  return {
    /** True with MIC_EMULATOR=1; the API settings are then not used. */
    emulator: config.emulator,
    baseUrl: toSetting(config.baseUrl, login?.baseUrl),
    clientId: toSetting(config.credentials?.clientId, login?.clientId),
    clientSecret: { from: secretOrigin(config, login) },
    workspaceId: toSetting(config.workspaceId, login?.workspaceId),
    profile: config.profile ?? "default",
    profiles,
    keychain: { mode: config.keychain, state, detail },
    tokens,
    variables,
    downloadDir: config.downloadDir,
    stateDir: config.stateDir,
    journal: await inspectJournal(config, journal).catch((error: unknown) => ({
      ...locateJournal(config),
      error: errorMessage(error),
    })),
  };
}

export type SettingsReport = Awaited<ReturnType<typeof collectSettings>>;

const formatSetting = ({ value, from }: Setting): string =>
  from === "not set" ? "not set" : `${value ?? "set, not shown"} (from the ${from})`;

function formatTokenStatus({ scopes, ageSeconds, expiresInSeconds: secondsLeft }: TokenStatus): string {
  const end = secondsLeft === undefined ? "unknown lifetime" : secondsLeft > 0 ? `${secondsLeft} s left` : "expired";
  return `  ${scopes}: ${ageSeconds} s old, ${end}`;
}

/** The folders and the journal have their own checks, so their lines are omitted. */
export const formatSettings = ({ keychain, ...settings }: SettingsReport): readonly string[] =>
  [
    ...(settings.emulator ? ["API             an emulator inside the process (MIC_EMULATOR=1)"] : []),
    `variables       ${settings.variables.join(", ") || "none"}`,
    `base URL        ${formatSetting(settings.baseUrl)}`,
    `client id       ${formatSetting(settings.clientId)}`,
    `client secret   ${formatSetting(settings.clientSecret)}`,
    `workspace       ${formatSetting(settings.workspaceId)}`,
    `profile         ${settings.profile} (stored: ${settings.profiles.join(", ") || "none"})`,
    `keychain        ${keychain.detail ?? keychain.state} (MIC_KEYCHAIN=${keychain.mode})`,
    `stored tokens   ${settings.tokens.length}`,
    ...settings.tokens.map(formatTokenStatus),
  ].map(escapeText);
