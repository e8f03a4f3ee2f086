// `mic-mcp status`: what is configured, from where, which keychain, and how old its tokens are; never a secret.
import { parseArgs } from "node:util";
import { type Config, readConfig } from "../config.ts";
import { COMMAND_LIMIT_MS, KeychainError, openKeychain } from "../credentials/keychain/keychain.ts";
import { readLogin, type StoredLogin, scopeSets, type TokenOwner } from "../credentials/login.ts";
import { readToken } from "../credentials/token-store.ts";
import { reasonOf } from "../failure.ts";
import { escaped } from "../outside.ts";
import { COMMANDS } from "./commands.ts";
import { redactorOf } from "./crash.ts";
import { type JournalSeen, journalOf, journalText, lookAtJournal, placeOf } from "./journal.ts";

type Source = "environment" | "keychain" | "not set";

interface Setting {
  /** Left out for secrets. */
  readonly value?: string;
  readonly from: Source;
}

interface TokenStatus {
  readonly scopes: string;
  readonly ageSeconds: number;
  /** Absent when the service stated no lifetime; negative once it is over. */
  readonly expiresInSeconds?: number;
}

interface Status {
  /** MIC_EMULATOR: then none of the service's settings are used. */
  readonly emulator: boolean;
  readonly baseUrl: Setting;
  readonly clientId: Setting;
  readonly clientSecret: Setting;
  readonly workspaceId: Setting;
  readonly keychain: { readonly mode: Config["keychain"]; readonly state: string; readonly detail?: string };
  readonly tokens: readonly TokenStatus[];
  readonly downloadDir: string;
  readonly stateDir: string;
  readonly journal: JournalSeen & { readonly trouble?: string };
}

interface Kept {
  readonly login?: StoredLogin;
  readonly tokens: readonly TokenStatus[];
  readonly state: string;
  readonly detail?: string;
}

function setting(environment: string | undefined, stored: string | undefined): Setting {
  if (environment !== undefined) return { value: environment, from: "environment" };
  return stored === undefined ? { from: "not set" } : { value: stored, from: "keychain" };
}

/** A login for another service than MIC_BASE_URL is not used (src/credentials/identity.ts). */
function usable(stored: StoredLogin | undefined, { baseUrl }: Config): Pick<Kept, "login" | "detail"> {
  if (!stored) return {};
  if (baseUrl === undefined || stored.baseUrl === baseUrl) return { login: stored };
  return { detail: `holds a login for ${stored.baseUrl}, not used: MIC_BASE_URL is another` };
}

async function readKeychain(config: Config): Promise<Kept> {
  if (config.keychain === "off") return { state: "off", tokens: [] };
  const keychain = openKeychain(COMMAND_LIMIT_MS);
  try {
    const used = usable(await readLogin(keychain), config);
    const { login } = used;
    const baseUrl = config.baseUrl ?? login?.baseUrl;
    const clientId = config.credentials?.clientId ?? login?.clientId;
    const owner: TokenOwner | undefined =
      baseUrl !== undefined && clientId !== undefined ? { baseUrl, clientId } : undefined;
    const now = Date.now();
    const tokens: TokenStatus[] = [];
    for (const scopes of owner ? scopeSets : []) {
      const token = owner && (await readToken(keychain, owner, scopes));
      if (!token) continue;
      const left = token.expiresAt === undefined ? undefined : Math.round((token.expiresAt - now) / 1000);
      const ageSeconds = Math.round((now - token.obtainedAt) / 1000);
      tokens.push({ scopes: scopes.join(" "), ageSeconds, ...(left !== undefined && { expiresInSeconds: left }) });
    }
    return { ...used, tokens, state: "available" };
  } catch (error) {
    if (!(error instanceof KeychainError)) throw error;
    return { tokens: [], state: error.trouble, detail: error.message };
  } finally {
    keychain.close();
  }
}

/** A journal that cannot be used is what the status is, not why there is none. */
async function journalStatus(config: Config): Promise<Status["journal"]> {
  const journal = journalOf(config);
  try {
    return await lookAtJournal(config, journal);
  } catch (error) {
    return { ...placeOf(config), trouble: reasonOf(error) };
  } finally {
    await journal.close();
  }
}

export async function collectStatus(config: Config): Promise<Status> {
  const { login, tokens, state, detail } = await readKeychain(config);
  const secret = setting(config.credentials?.clientSecret, login?.clientSecret);
  return {
    emulator: config.emulator,
    baseUrl: setting(config.baseUrl, login?.baseUrl),
    clientId: setting(config.credentials?.clientId, login?.clientId),
    clientSecret: { from: secret.from },
    workspaceId: setting(config.workspaceId, login?.workspaceId),
    keychain: { mode: config.keychain, state, ...(detail !== undefined && { detail }) },
    tokens,
    downloadDir: config.downloadDir,
    stateDir: config.stateDir,
    journal: await journalStatus(config),
  };
}

const said = ({ value, from }: Setting): string =>
  from === "not set" ? "not set" : `${value ?? "set, not shown"} (from the ${from})`;

function tokenLine({ scopes, ageSeconds, expiresInSeconds }: TokenStatus): string {
  const end =
    expiresInSeconds === undefined
      ? "no stated lifetime"
      : expiresInSeconds > 0
        ? `${expiresInSeconds} s left`
        : "expired";
  return `  ${scopes}: ${ageSeconds} s old, ${end}`;
}

/** What a person does who has nothing yet. */
const nextLines = ({ baseUrl, emulator }: Status): readonly string[] =>
  baseUrl.from === "not set" && !emulator
    ? ["No service is configured: mic-mcp login asks for one, mic-mcp demo needs none."]
    : [];

function statusText(status: Status): string {
  const { mode, state, detail } = status.keychain;
  return [
    ...(status.emulator ? ["service         an emulator inside the process (MIC_EMULATOR=1)"] : []),
    `base URL        ${said(status.baseUrl)}`,
    `client id       ${said(status.clientId)}`,
    `client secret   ${said(status.clientSecret)}`,
    `workspace       ${said(status.workspaceId)}`,
    `keychain        ${detail ?? state} (MIC_KEYCHAIN=${mode})`,
    `tokens kept     ${status.tokens.length}`,
    ...status.tokens.map(tokenLine),
    `downloads       ${status.downloadDir}`,
    `state           ${status.stateDir}`,
    `journal         ${status.journal.trouble ?? journalText(status.journal)}`,
    ...nextLines(status),
  ]
    .map(escaped)
    .join("\n");
}

export async function status(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: COMMANDS.status.flags });
  const config = readConfig(environment);
  const found = await collectStatus(config);
  const { redact } = redactorOf(config);
  const text = values.json ? escaped(redact(JSON.stringify(found))) : redact(statusText(found));
  process.stdout.write(`${text}\n`);
  return 0;
}
