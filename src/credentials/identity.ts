// Determines the identity of this process at the API: base URL, client credentials, workspace. The environment comes first; the
// login in the keychain provides the rest. The login is read only when needed, and again after 3 s, so that a running server
// notices a logout.
import { memoizeUntilFailure } from "../core/async.ts";
import type { Config, SecretSource } from "../core/config.ts";
import { type Failure, notConfigured } from "../core/failure.ts";
import { isSecureUrl } from "../core/loopback.ts";
import { ask, forReader, own, type Part, raw, say, type Text } from "../core/text.ts";
import { readClientSecret } from "./client-secret.ts";
import { describeHelp, type Keychain, KeychainError, WITHOUT_KEYCHAIN } from "./keychain/keychain.ts";
import { readLogin, type StoredLogin } from "./login.ts";
import type { ClientCredentials } from "./oauth.ts";
import type { Redactor } from "./redaction.ts";

const OR_EMULATE = forReader("start the server with --emulator", "add --emulator to try it without an account");

/** Values from the environment and the command-line flags. */
type IdentitySettings = Pick<Config, "baseUrl" | "credentials" | "workspaceId"> & Partial<Pick<Config, "profile">>;

export interface Identity {
  /** Returns the contract's {base_url}: a promise only if the keychain must be read. Rejects with Failure `not_configured`. */
  baseUrl(): string | Promise<string>;
  /** Throws Failure `not_configured`. */
  credentials(): Promise<ClientCredentials>;
  /** Whether the login was checked a moment ago. If so, a call need not wait for `credentials`, which checks it. */
  isLoginVerified(): boolean;
  /** Returns the default workspace, if there is one. Throws Failure if the keychain that may contain one cannot be read. */
  workspaceId(): Promise<string | undefined>;
  /** Call this when the API rejects the credentials: a stored login or secret may have been replaced, and is read again. */
  invalidateCachedLogin(): void;
  /** Identifies the owner of Idempotency-Keys: the API stores keys by application. Throws Failure `not_configured`. */
  serviceName(): Promise<string>;
}

const VARIABLES = own("MIC_BASE_URL, MIC_CLIENT_ID and MIC_CLIENT_SECRET (mic-mcp doctor reports what is missing)");
const { unlock, respond } = describeHelp();

const NEXT_STEPS: Readonly<Record<KeychainError["kind"], Text>> = {
  absent: say`${ask("Set")} ${VARIABLES}.`,
  unusable: say`${ask("Install")} mic-mcp again with its optional packages, or set ${VARIABLES}.`,
  silent: say`${ask(respond)}, or set ${VARIABLES}.`,
  locked: say`${ask("Unlock")} the keychain (${own(unlock)}) or set MIC_CLIENT_ID and MIC_CLIENT_SECRET, then call again.`,
  failed: say`Call again. If it fails again, ${forReader("ask the user to ", "")}set ${VARIABLES}.`,
};

const toKeychainFailure = (error: KeychainError): Failure =>
  notConfigured(say`The credentials could not be read: ${raw(error.message)}.`, NEXT_STEPS[error.kind]);

/** Refuses to send credentials without TLS, except to this machine. Throws Failure `not_configured`. */
export function refusePlainHttp(baseUrl: string): void {
  if (isSecureUrl(new URL(baseUrl))) return;
  throw notConfigured(
    say`Credentials are sent over https only (or to this machine itself), and the base URL is ${raw(baseUrl)}.`,
    say`${ask("Set")} MIC_BASE_URL to an https URL.`,
  );
}

export interface IdentityOptions {
  readonly settings: IdentitySettings;
  /** Undefined if MIC_KEYCHAIN=off. */
  readonly keychain: Keychain | undefined;
  /** True if MIC_KEYCHAIN=require: credentials from the environment are also refused while no keychain works. */
  readonly required: boolean;
  readonly redactor: Redactor;
  readonly now: () => number;
}

/** A login is read again after this time, so that a logout or another login is noticed. */
export const LOGIN_CACHE_MS = 3_000;
/** A keychain that does not answer costs seconds, so it is not read again for this long. A known login remains in use. */
const KEYCHAIN_COOLDOWN_MS: Readonly<Record<"unknown" | "known", number>> = { unknown: 10_000, known: 60_000 };

// Tokens in memory and calls in flight belong to the identity that this process started with.
const changedLogin = (): Failure =>
  notConfigured(
    say`The stored login is for another service or client than when this server started.`,
    say`${ask("Restart")} the server (in most clients: reconnect it).`,
  );

export function createIdentity(options: IdentityOptions): Identity {
  const { settings, keychain, required, redactor, now } = options;
  /** A login or logout does not change credentials from the environment. */
  const isFromEnvironment = settings.credentials !== undefined && !required;
  /** The secret of a file or a program. */
  let secret: ReturnType<typeof memoizeUntilFailure<string>> | undefined;
  let reading: Promise<StoredLogin | undefined> | undefined;
  let readAgainAt = 0;
  /** The first login, which determines the identity of this process. */
  let first: StoredLogin | undefined;
  /** The login that the keychain returned last. */
  let last: StoredLogin | undefined;
  /** Reason why the keychain is unavailable; undefined if it is available, or while this is not yet determined. */
  let noKeychainReason: Part | undefined = keychain ? undefined : own("MIC_KEYCHAIN is off");

  function acceptLogin(login: StoredLogin | undefined): StoredLogin | undefined {
    noKeychainReason = undefined;
    last = undefined;
    if (!login) return undefined;
    redactor.add(login.clientSecret);
    if (first && (first.baseUrl !== login.baseUrl || first.clientId !== login.clientId)) throw changedLogin();
    first ??= login;
    last = login;
    return login;
  }

  async function read(from: Keychain): Promise<StoredLogin | undefined> {
    let delayMs = 0;
    try {
      const login = acceptLogin(await readLogin(from, settings.profile));
      // Without a login, each call reads the keychain, so the first call after `mic-mcp login` finds the login.
      if (login) delayMs = LOGIN_CACHE_MS;
      return login;
    } catch (error) {
      delayMs = LOGIN_CACHE_MS;
      if (!(error instanceof KeychainError)) throw error;
      if (last) delayMs = KEYCHAIN_COOLDOWN_MS.known;
      else if (error.kind === "silent") delayMs = KEYCHAIN_COOLDOWN_MS.unknown;
      // An unreadable keychain does not mean that the user logged out.
      if (last) return last;
      throw error;
    } finally {
      readAgainAt = now() + delayMs;
    }
  }

  /** Undefined without a login or a keychain. Throws Failure if the keychain is locked, silent or failing, or required and missing. */
  async function getStoredLogin(): Promise<StoredLogin | undefined> {
    if (!keychain) return undefined;
    if (!reading || now() >= readAgainAt) {
      // Concurrent callers share one read.
      readAgainAt = Number.POSITIVE_INFINITY;
      reading = read(keychain);
    }
    try {
      return await reading;
    } catch (error) {
      if (!(error instanceof KeychainError)) throw error;
      const isMissing = error.kind === "absent" || error.kind === "unusable";
      if (!isMissing || required) throw toKeychainFailure(error);
      noKeychainReason =
        error.kind === "absent" ? own("there is no OS keychain here that could hold a login") : raw(error.message);
      return undefined;
    }
  }

  /** Suggests `mic-mcp login` only if there is a keychain. */
  function missingSettingFailure(
    what: Text,
    variables: "MIC_BASE_URL" | "MIC_CLIENT_ID and MIC_CLIENT_SECRET",
  ): Failure {
    const profile = settings.profile === undefined ? undefined : raw(settings.profile);
    return noKeychainReason === undefined
      ? notConfigured(
          say`${what}${profile && say` (profile ${profile})`}.`,
          say`${ask("Run")} mic-mcp login${profile && say` --profile ${profile}`}, set ${own(variables)}, or ${OR_EMULATE}.`,
        )
      : notConfigured(
          say`${what}, and ${noKeychainReason}.`,
          say`${forReader(
            `Ask the user to set ${variables}, or start the server with --emulator.`,
            `Add --emulator to try it without an account. ${WITHOUT_KEYCHAIN}`,
          )}`,
        );
  }

  const recentLogin = (): StoredLogin | undefined =>
    readAgainAt < Number.POSITIVE_INFINITY && now() < readAgainAt ? last : undefined;

  async function readBaseUrl(): Promise<string> {
    const login = await getStoredLogin();
    if (login) return login.baseUrl;
    throw missingSettingFailure(
      say`The MIC API is not configured: there is no MIC_BASE_URL and no stored login`,
      "MIC_BASE_URL",
    );
  }

  const baseUrl = (): string | Promise<string> => settings.baseUrl ?? recentLogin()?.baseUrl ?? readBaseUrl();

  /** Throws Failure `not_configured`. */
  async function findCredentials() {
    const login = isFromEnvironment ? undefined : await getStoredLogin();
    const credentials = settings.credentials ?? login;
    if (!credentials)
      throw missingSettingFailure(
        say`This operation needs an access token, and no client credentials are configured`,
        "MIC_CLIENT_ID and MIC_CLIENT_SECRET",
      );
    // A stored secret is sent only to the API that it was stored for.
    if (!settings.credentials && login && settings.baseUrl !== undefined && settings.baseUrl !== login.baseUrl)
      throw notConfigured(
        say`The stored login is for ${raw(login.baseUrl)}, but MIC_BASE_URL is ${raw(settings.baseUrl)}.`,
        say`${ask("Run")} mic-mcp login for that service, set MIC_CLIENT_ID and MIC_CLIENT_SECRET, or unset MIC_BASE_URL.`,
      );
    refusePlainHttp(await baseUrl());
    return credentials;
  }

  /** Reads a file or runs a program once, and again after a failure or a refusal by the API. */
  function readSecretOnce(source: SecretSource): Promise<string> {
    secret ??= memoizeUntilFailure(async () => {
      const text = await readClientSecret(source);
      redactor.add(text);
      return text;
    });
    return secret.get();
  }

  async function credentials(): Promise<ClientCredentials> {
    const { clientId, clientSecret } = await findCredentials();
    return {
      clientId,
      clientSecret: typeof clientSecret === "string" ? clientSecret : await readSecretOnce(clientSecret),
    };
  }

  return {
    baseUrl,
    credentials,
    isLoginVerified: () => isFromEnvironment || recentLogin() !== undefined,
    async serviceName() {
      const { clientId } = await findCredentials();
      return JSON.stringify([await baseUrl(), clientId]);
    },
    async workspaceId() {
      if (settings.workspaceId !== undefined) return settings.workspaceId;
      // The environment provides everything else, so this process does not use the stored login.
      if (settings.baseUrl !== undefined && settings.credentials) return undefined;
      const login = await getStoredLogin();
      return settings.baseUrl === undefined || settings.baseUrl === login?.baseUrl ? login?.workspaceId : undefined;
    },
    invalidateCachedLogin() {
      readAgainAt = 0;
      secret = undefined;
    },
  };
}
