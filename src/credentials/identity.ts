// Who this process is to the service: base URL, client credentials, workspace. The environment first; what it leaves out
// comes from the login in the keychain, read only when needed, and again every few seconds: a logout is for servers too.
import { type Failure, notConfigured } from "../core/failure.ts";
import { isLoopback } from "../core/loopback.ts";
import { type Keychain, KeychainError } from "./keychain/keychain.ts";
import { readLogin, type StoredLogin } from "./login.ts";
import type { ClientCredentials } from "./oauth.ts";
import type { Redactor } from "./redaction.ts";

/** What the environment and the flags say. */
export interface IdentitySettings {
  readonly baseUrl: string | undefined;
  readonly credentials: ClientCredentials | undefined;
  readonly workspaceId: string | undefined;
}

export interface Identity {
  /** The contract's {base_url}. Throws Failure `not_configured`. */
  baseUrl(): Promise<string>;
  /** Throws Failure `not_configured`. */
  credentials(): Promise<ClientCredentials>;
  /**
   * Undefined while that is known: most calls are not to wait for it. Else settles when it is, and throws Failure when the
   * login is gone.
   */
  verifyLogin(): Promise<unknown> | undefined;
  /** The default workspace, when there is one. Throws Failure when the keychain that may hold one cannot be read. */
  workspaceId(): Promise<string | undefined>;
  /** The service refused the credentials: a stored login is read again before its next use; `mic-mcp login` may have replaced it. */
  invalidateCachedLogin(): void;
  /** Whose Idempotency-Keys are meant: the service keeps them by application. Throws Failure `not_configured`. */
  serviceName(): Promise<string>;
}

const SET_VARIABLES = "set MIC_BASE_URL, MIC_CLIENT_ID and MIC_CLIENT_SECRET (mic-mcp doctor reports what is missing)";
const ASK_FOR_VARIABLES = `Ask the user to ${SET_VARIABLES}.`;

const NEXT_STEPS: Readonly<Record<KeychainError["kind"], string>> = {
  absent: ASK_FOR_VARIABLES,
  unusable: `Ask the user to install mic-mcp again with its optional packages, or ${SET_VARIABLES}.`,
  silent: ASK_FOR_VARIABLES,
  locked:
    "Ask the user to unlock the keychain (log in to the desktop, or run gnome-keyring-daemon --unlock) or set MIC_CLIENT_ID and MIC_CLIENT_SECRET, then call again.",
  failed: `Call again. If it fails again, ask the user to ${SET_VARIABLES}.`,
};

const toKeychainFailure = (error: KeychainError): Failure =>
  notConfigured(`The credentials could not be read: ${error.message}.`, NEXT_STEPS[error.kind]);

/** Credentials travel over TLS, or do not leave the machine. Throws Failure. */
export function refusePlainHttp(baseUrl: string): void {
  const { protocol, hostname } = new URL(baseUrl);
  if (protocol === "https:" || hostname === "localhost" || isLoopback(hostname.replace(/[[\]]/g, ""))) return;
  throw notConfigured(
    `Credentials are sent over https only (or to this machine itself), and the base URL is ${baseUrl}.`,
    "Ask the user to set MIC_BASE_URL to an https URL.",
  );
}

export interface IdentityOptions {
  readonly settings: IdentitySettings;
  /** Undefined with MIC_KEYCHAIN=off. */
  readonly keychain: Keychain | undefined;
  /** MIC_KEYCHAIN=require: credentials of the environment are refused too while there is no keychain that works. */
  readonly required: boolean;
  readonly redactor: Redactor;
  readonly now: () => number;
}

/** A login is read again after this time: within it, a logout or another login is noticed. */
export const LOGIN_CACHE_MS = 3_000;
/** A silent keychain costs seconds each time, and a login that is known goes on without it. */
const KEYCHAIN_COOLDOWN_MS: Readonly<Record<"unknown" | "known", number>> = { unknown: 10_000, known: 60_000 };

// Tokens in memory and calls under way belong to who this process was when it began.
const changedLogin = (): Failure =>
  notConfigured(
    "The stored login is for another service or client than when this server started.",
    "Ask the user to restart the server (in most clients: reconnect it).",
  );

export function createIdentity(options: IdentityOptions): Identity {
  const { settings, keychain, required, redactor, now } = options;
  /** Nobody can log in or out of the environment. */
  const isFromEnvironment = settings.credentials !== undefined && !required;
  let reading: Promise<StoredLogin | undefined> | undefined;
  let readAgainAt = 0;
  /** The first login: who this process is. */
  let first: StoredLogin | undefined;
  /** What the keychain said last. */
  let last: StoredLogin | undefined;
  /** Why there is no keychain, once that is known. */
  let noKeychainReason = keychain ? undefined : "MIC_KEYCHAIN is off";

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
      const login = acceptLogin(await readLogin(from));
      // Without a login each call looks for one: the next call after `mic-mcp login` finds it.
      if (login) delayMs = LOGIN_CACHE_MS;
      return login;
    } catch (error) {
      delayMs = LOGIN_CACHE_MS;
      if (!(error instanceof KeychainError)) throw error;
      if (last) delayMs = KEYCHAIN_COOLDOWN_MS.known;
      else if (error.kind === "silent") delayMs = KEYCHAIN_COOLDOWN_MS.unknown;
      // That it cannot be read now is no logout.
      if (last) return last;
      throw error;
    } finally {
      readAgainAt = now() + delayMs;
    }
  }

  function getStoredLogin(): Promise<StoredLogin | undefined> {
    if (!keychain) return Promise.resolve(undefined);
    if (reading && now() < readAgainAt) return reading;
    // One reads for all who ask meanwhile.
    readAgainAt = Number.POSITIVE_INFINITY;
    reading = read(keychain);
    return reading;
  }

  /** The stored login, or undefined where there is none to be had; a locked or silent keychain is a failure of its own. */
  async function getStoredLoginOrThrow(): Promise<StoredLogin | undefined> {
    try {
      return await getStoredLogin();
    } catch (error) {
      if (!(error instanceof KeychainError)) throw error;
      const isMissing = error.kind === "absent" || error.kind === "unusable";
      if (!isMissing || required) throw toKeychainFailure(error);
      noKeychainReason =
        error.kind === "absent" ? "there is no OS keychain here that could hold a login" : error.message;
      return undefined;
    }
  }

  /** `login` helps only where there is a keychain. */
  function missingSettingFailure(what: string, variables: string): Failure {
    return noKeychainReason === undefined
      ? notConfigured(
          `${what}.`,
          `Ask the user to run mic-mcp login, set ${variables}, or start the server with --emulator.`,
        )
      : notConfigured(
          `${what}, and ${noKeychainReason}.`,
          `Ask the user to set ${variables}, or start the server with --emulator.`,
        );
  }

  async function baseUrl(): Promise<string> {
    const url = settings.baseUrl ?? (await getStoredLoginOrThrow())?.baseUrl;
    if (url !== undefined) return url;
    throw missingSettingFailure(
      "No service is configured: there is no MIC_BASE_URL and no stored login",
      "MIC_BASE_URL",
    );
  }

  async function credentials(): Promise<ClientCredentials> {
    const login = isFromEnvironment ? undefined : await getStoredLoginOrThrow();
    const credentials = settings.credentials ?? login;
    if (!credentials)
      throw missingSettingFailure(
        "This operation needs an access token, and no client credentials are configured",
        "MIC_CLIENT_ID and MIC_CLIENT_SECRET",
      );
    // A stored secret goes nowhere but to the service that it was stored for.
    if (!settings.credentials && login && settings.baseUrl !== undefined && settings.baseUrl !== login.baseUrl)
      throw notConfigured(
        `The stored login is for ${login.baseUrl}, but MIC_BASE_URL is ${settings.baseUrl}.`,
        "Ask the user to run mic-mcp login for that service, set MIC_CLIENT_ID and MIC_CLIENT_SECRET, or unset MIC_BASE_URL.",
      );
    refusePlainHttp(await baseUrl());
    return { clientId: credentials.clientId, clientSecret: credentials.clientSecret };
  }

  return {
    baseUrl,
    credentials,
    verifyLogin() {
      if (isFromEnvironment) return undefined;
      // The keychain was asked a moment ago.
      const isRecent = last !== undefined && readAgainAt < Number.POSITIVE_INFINITY && now() < readAgainAt;
      return isRecent ? undefined : credentials();
    },
    async serviceName() {
      const { clientId } = await credentials();
      return JSON.stringify([await baseUrl(), clientId]);
    },
    async workspaceId() {
      if (settings.workspaceId !== undefined) return settings.workspaceId;
      // Everything else given: the stored login has no part in this process.
      if (settings.baseUrl !== undefined && settings.credentials) return undefined;
      const login = await getStoredLoginOrThrow();
      return settings.baseUrl === undefined || settings.baseUrl === login?.baseUrl ? login?.workspaceId : undefined;
    },
    invalidateCachedLogin() {
      readAgainAt = 0;
    },
  };
}
