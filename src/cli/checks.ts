// Defines the checks of `mic-mcp doctor`; each check returns one line of its output.
import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { access, mkdtemp, rmdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { JournalHandle } from "../actions/journal-handle.ts";
import { systemTiming } from "../api-client/attempts.ts";
import type { ApiClient } from "../api-client/client.ts";
import { toWireTarget } from "../api-client/encode.ts";
import { PROXY_VARIABLES, parseProxyUrl, proxyAdvice } from "../api-client/proxies.ts";
import type { Endpoint } from "../contract/endpoints/endpoint.ts";
import { getMicPublicCapabilities } from "../contract/endpoints/job-processing.ts";
import { listPlaygroundStates } from "../contract/endpoints/playground.ts";
import type { Config } from "../core/config.ts";
import { errorCode, errorMessage, Failure } from "../core/failure.ts";
import { render } from "../core/text.ts";
import { formatJson } from "../core/untrusted-text.ts";
import type { Identity } from "../credentials/identity.ts";
import { type Keychain, KeychainError } from "../credentials/keychain/keychain.ts";
import type { Tokens } from "../credentials/tokens.ts";
import { noWorkspace } from "../toolkit/argument-errors.ts";
import { volumeAdvice } from "./container-storage.ts";
import { describeError } from "./errors.ts";
import { formatJournalStatus, inspectJournal } from "./journal.ts";
import { PERSON } from "./terminal-reader.ts";

export interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
  /** The command or change that fixes the problem. */
  readonly fix?: string;
}

export const passedCheck = (name: string, detail: string): Check => ({ name, ok: true, detail });
export const failedCheck = (name: string, detail: string, fix: string): Check => ({ name, ok: false, detail, fix });

/** Each check makes only one attempt, because the user waits for the result. */
export const CHECK_LIMIT_MS = 5_000;
export const createCallContext = () => ({
  signal: new AbortController().signal,
  deadlineAt: systemTiming.clockMs() + CHECK_LIMIT_MS,
  maxAttempts: 1,
});

/** `fix`: for an error without a next step. */
export function checkFromError(name: string, error: unknown, fix?: string): Check {
  const defaultFix = error instanceof Failure ? "Try again later." : "Run again with MIC_LOG_LEVEL=debug.";
  const { message, next = fix ?? defaultFix } = describeError(error);
  return failedCheck(name, message, next);
}

/** `detail` returns the text of a passed check, or throws. */
export const runCheck = (name: string, detail: () => Promise<string>, fix?: string): Promise<Check> =>
  detail().then(
    (text) => passedCheck(name, text),
    (error: unknown) => checkFromError(name, error, fix),
  );

export function checkNode(): Check {
  const [major = 0] = process.versions.node.split(".").map(Number);
  const advice = major < 22 ? " (supported, but Node 24 is recommended; Node 20 has reached end of life)" : "";
  return passedCheck("node", `${process.versions.node}${advice}`);
}

export function checkWarnings({ warnings }: Config): Check {
  return warnings.length === 0
    ? passedCheck("configuration", "all MIC_ variables are known and valid")
    : failedCheck("configuration", warnings.join(" "), "Correct or unset these variables.");
}

export async function checkKeychain(keychain: Keychain | undefined, { keychain: mode }: Config): Promise<Check> {
  if (!keychain && mode !== "off") return passedCheck("keychain", "not used: the emulator runs in this process");
  if (!keychain) return passedCheck("keychain", "off (MIC_KEYCHAIN=off); tokens are kept in memory");
  const account = `doctor ${randomBytes(8).toString("hex")}`;
  try {
    await keychain.setPassword(account, account);
    const read = await keychain.getPassword(account);
    await keychain.deletePassword(account);
    if (read === account) return passedCheck("keychain", "a test entry was written, read and deleted");
    const failure = new KeychainError("failed", "a test entry was read with a different value");
    return failedCheck("keychain", failure.message, failure.fix);
  } catch (error) {
    if (!(error instanceof KeychainError)) throw error;
    if (error.kind === "absent" && mode === "auto")
      return passedCheck("keychain", `${error.message}; tokens are kept in memory`);
    return failedCheck("keychain", error.message, error.fix);
  }
}

export const checkBaseUrl = (identity: Identity): Promise<Check> =>
  runCheck("base URL", async () => await identity.baseUrl());

export const checkToken = (identity: Identity, tokens: Tokens): Promise<Check> =>
  runCheck("token", async () => {
    const { clientId } = await identity.credentials();
    await tokens.get(getMicPublicCapabilities.scopesToRequest, createCallContext());
    return `the token endpoint accepts client ${clientId}`;
  });

export const checkPlayground = (service: ApiClient): Promise<Check> =>
  runCheck("geography API", async () => {
    try {
      const { value } = await service.call(listPlaygroundStates, {}, createCallContext());
      return `reachable, returned ${value.states.length} states`;
    } catch (error) {
      // Calls wait until the rate limit allows another request.
      if (!(error instanceof Failure) || error.facts.kind !== "rate_limited") throw error;
      return `reachable; its rate limit allows the next request in ${error.facts.retryAfterSeconds ?? 60} s`;
    }
  });

export const checkJobApi = (service: ApiClient, identity: Identity): Promise<Check> =>
  runCheck("job API", async () => {
    const workspaceId = await identity.workspaceId();
    if (workspaceId === undefined) throw noWorkspace();
    const { value } = await service.call(getMicPublicCapabilities, { query: { workspaceId } }, createCallContext());
    return `workspace ${workspaceId} has ${value.data.capabilities.length} capabilities`;
  });

const MAX_SKEW_SECONDS = 60;

/** Compares this machine's clock with the API's Date header, because token lifetimes and `expiresAt` depend on the clock. */
export async function checkClock(service: ApiClient): Promise<Check> {
  try {
    const target = toWireTarget(await service.baseUrl(), (listPlaygroundStates satisfies Endpoint).path);
    const limits = { maxBytes: 1 << 20, timeoutMs: CHECK_LIMIT_MS, signal: new AbortController().signal };
    const { headers } = await service.transport.exchange({ method: "GET", ...target, headers: {} }, limits);
    const serverTime = Date.parse(headers["date"] ?? "");
    if (Number.isNaN(serverTime)) return passedCheck("clock", "not checked: the API returned no Date header");
    const skewSeconds = Math.round((Date.now() - serverTime) / 1000);
    if (Math.abs(skewSeconds) <= MAX_SKEW_SECONDS)
      return passedCheck("clock", `within ${Math.abs(skewSeconds) + 1} s of the API's clock`);
    const detail = `${Math.abs(skewSeconds)} s ${skewSeconds > 0 ? "ahead of" : "behind"} the API's clock`;
    return failedCheck("clock", detail, "Set this machine's clock (on Linux: timedatectl set-ntp true).");
  } catch (error) {
    return failedCheck("clock", `could not be checked: ${errorMessage(error)}`, "Fix the geography API check first.");
  }
}

/** Permissions do not show whether a read-only or remote disk accepts writes, so this creates and removes a temporary folder. */
async function checkWritable(at: string, createsFolder: boolean): Promise<void> {
  await access(at, constants.W_OK | constants.X_OK);
  if (createsFolder) await rmdir(await mkdtemp(join(at, ".mic-mcp-doctor-")));
}

/** Checks that a folder is writable or can be created. `isPrivate`: the check fails if other users can read the folder. */
export async function checkFolder(
  name: string,
  folder: string,
  variable: string,
  isPrivate: boolean,
  platform: NodeJS.Platform = process.platform,
): Promise<Check> {
  let at = folder;
  for (;;) {
    let exists = false;
    try {
      const found = await stat(at);
      exists = true;
      if (!found.isDirectory()) return failedCheck(name, `${at} is not a folder`, `Set ${variable} to a folder.`);
      await checkWritable(at, at === folder);
      if (at !== folder) return passedCheck(name, `${folder} (will be created when needed)`);
      // Windows has no modes. A folder in the user's profile is private by the profile's access list.
      if (isPrivate && platform === "win32") return passedCheck(name, `${folder} (its access list is not checked)`);
      const isExposed = isPrivate && (found.mode & 0o077) !== 0;
      return isExposed
        ? failedCheck(name, `${folder} can be read by other users`, `chmod 700 ${formatJson(folder)}`)
        : passedCheck(name, folder);
    } catch (error) {
      if (exists || errorCode(error) !== "ENOENT" || dirname(at) === at)
        return failedCheck(name, `${at} is not writable`, `Set ${variable} to a folder that you can write to.`);
      at = dirname(at);
    }
  }
}

/** `isDeletedWithContainer`: the check fails, because a repeated action would run again in the next container. */
export async function checkJournal(
  config: Config,
  journal: JournalHandle,
  isDeletedWithContainer: boolean,
): Promise<Check> {
  const check = await runCheck("journal", async () => formatJournalStatus(await inspectJournal(config, journal)));
  if (!check.ok || !isDeletedWithContainer) return check;
  return failedCheck("journal", `${check.detail}; it is deleted with this container`, `${volumeAdvice(config)}.`);
}

export async function checkHttpToken({ httpToken, stateDir }: Config): Promise<Check> {
  if (httpToken !== undefined) return passedCheck("HTTP token", "serve --http requires the token in MIC_HTTP_TOKEN");
  const { httpTokenFile, readHttpToken } = await import("../transports/http/token.ts");
  const file = httpTokenFile(stateDir);
  return await runCheck("HTTP token", async () => {
    const isCreated = await readHttpToken(file).then(
      () => true,
      (error: unknown) => {
        if (errorCode(error) !== "ENOENT") throw error;
        return false;
      },
    );
    return isCreated ? `clients of serve --http find it in ${file}` : `serve --http will create it in ${file}`;
  });
}

/** A proxy that cannot be used is reported by the checks that send requests. */
export function checkProxy(environment: NodeJS.ProcessEnv): Check {
  const names = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy"];
  const set = [...names, "NODE_EXTRA_CA_CERTS"].filter((name) => environment[name]);
  const invalid = PROXY_VARIABLES.find(
    (name) => environment[name] && parseProxyUrl(environment[name] ?? "") === undefined,
  );
  if (invalid !== undefined)
    return failedCheck(
      "proxy",
      `the value of ${invalid} is not the URL of a proxy`,
      render(proxyAdvice(invalid), PERSON),
    );
  // Values are omitted because the URL of a proxy can contain a password.
  return passedCheck("proxy", set.length === 0 ? "none set" : `${set.join(", ")} set`);
}
