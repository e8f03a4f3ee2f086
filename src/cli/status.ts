// Implements `mic-mcp status`, which prints the settings and their sources, the keychain with its tokens, and the journal, but no secrets.
import { type Config, readConfig } from "../core/config.ts";
import { errorMessage } from "../core/failure.ts";
import { escapeText } from "../core/untrusted-text.ts";
import { COMMAND_LIMIT_MS, type Keychain, KeychainError, openKeychain } from "../credentials/keychain/keychain.ts";
import { listProfiles, readLogin, type StoredLogin, scopeSets, type TokenOwner } from "../credentials/login.ts";
import { readToken } from "../credentials/token-store.ts";
import type { RunCommand } from "./commands.ts";
import { createConfiguredJournal, formatJournalStatus, inspectJournal, locateJournal } from "./journal.ts";
import { createConfigRedactor } from "./log.ts";

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

interface KeychainContent {
  readonly login?: StoredLogin;
  readonly tokens: readonly TokenStatus[];
  readonly profiles?: readonly string[];
  readonly state: string;
  readonly detail?: string;
}

async function readKeychain(config: Config): Promise<KeychainContent> {
  if (config.keychain === "off") return { state: "off", tokens: [] };
  const keychain = openKeychain(COMMAND_LIMIT_MS);
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
      ...(isOther && { detail: `has a login for ${stored.baseUrl}, not used because MIC_BASE_URL is different` }),
      tokens: hasOwner ? await readTokens(keychain, { baseUrl, clientId }) : [],
      // Some keychains cannot list their entries.
      profiles: await listProfiles(keychain).catch(() => []),
      state: "available",
    };
  } catch (error) {
    if (!(error instanceof KeychainError)) throw error;
    return { tokens: [], state: error.kind, detail: error.message };
  } finally {
    keychain.close();
  }
}

async function journalStatus(config: Config) {
  const journal = createConfiguredJournal(config);
  try {
    return { ...(await inspectJournal(config, journal)), error: undefined };
  } catch (error) {
    return { ...locateJournal(config), error: errorMessage(error) };
  } finally {
    await journal.close();
  }
}

async function collectStatus(config: Config) {
  const { login, tokens, profiles = [], state, detail } = await readKeychain(config);
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
    downloadDir: config.downloadDir,
    stateDir: config.stateDir,
    journal: await journalStatus(config),
  };
}

const formatSetting = ({ value, from }: Setting): string =>
  from === "not set" ? "not set" : `${value ?? "set, not shown"} (from the ${from})`;

function formatTokenStatus({ scopes, ageSeconds, expiresInSeconds: secondsLeft }: TokenStatus): string {
  const end = secondsLeft === undefined ? "unknown lifetime" : secondsLeft > 0 ? `${secondsLeft} s left` : "expired";
  return `  ${scopes}: ${ageSeconds} s old, ${end}`;
}

function formatStatus({ keychain, journal, ...status }: Awaited<ReturnType<typeof collectStatus>>): string {
  const isUnconfigured = status.baseUrl.from === "not set" && !status.emulator;
  const lines = [
    ...(status.emulator ? ["API             an emulator inside the process (MIC_EMULATOR=1)"] : []),
    `base URL        ${formatSetting(status.baseUrl)}`,
    `client id       ${formatSetting(status.clientId)}`,
    `client secret   ${formatSetting(status.clientSecret)}`,
    `workspace       ${formatSetting(status.workspaceId)}`,
    `profile         ${status.profile} (stored: ${status.profiles.join(", ") || "none"})`,
    `keychain        ${keychain.detail ?? keychain.state} (MIC_KEYCHAIN=${keychain.mode})`,
    `stored tokens   ${status.tokens.length}`,
    ...status.tokens.map(formatTokenStatus),
    `downloads       ${status.downloadDir}`,
    `state           ${status.stateDir}`,
    `journal         ${journal.error ?? formatJournalStatus(journal)}`,
    ...(isUnconfigured
      ? [
          "The MIC API is not configured. Run mic-mcp login to configure it, or mic-mcp demo to try mic-mcp without an account.",
        ]
      : []),
  ];
  return lines.map(escapeText).join("\n");
}

export const status: RunCommand<"status"> = async ({ values }, environment) => {
  const config = readConfig(environment);
  const found = await collectStatus(config);
  const { redact } = createConfigRedactor(config);
  process.stdout.write(`${values.json ? escapeText(redact(JSON.stringify(found))) : redact(formatStatus(found))}\n`);
  return 0;
};
