// The checks of `mic-mcp doctor`, one for each line it prints.
import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { access, mkdtemp, rmdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { JournalHandle } from "../actions/journal-handle.ts";
import type { ApiClient } from "../api-client/client.ts";
import { toWireTarget } from "../api-client/encode.ts";
import type { Endpoint } from "../contract/endpoints/endpoint.ts";
import { getMicPublicCapabilities, getMicPublicOperation } from "../contract/endpoints/job-processing.ts";
import { listPlaygroundStates } from "../contract/endpoints/playground.ts";
import type { Config } from "../core/config.ts";
import { errorCode, errorMessage, Failure } from "../core/failure.ts";
import { formatJson } from "../core/untrusted-text.ts";
import type { Identity } from "../credentials/identity.ts";
import { type Keychain, KeychainError } from "../credentials/keychain/keychain.ts";
import type { Tokens } from "../credentials/tokens.ts";
import { forUser } from "./errors.ts";
import { journalText, lookAtJournal } from "./journal.ts";

export interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
  /** The command or change that fixes it. */
  readonly fix?: string;
}

const good = (name: string, detail: string): Check => ({ name, ok: true, detail });
const wrong = (name: string, detail: string, fix: string): Check => ({ name, ok: false, detail, fix });

/** One attempt for each check: doctor is interactive. */
const LIMIT_MS = 5_000;
const context = () => ({
  signal: new AbortController().signal,
  deadlineAt: Date.now() + LIMIT_MS,
  maxAttempts: 1,
});

function failed(name: string, error: unknown): Check {
  if (!(error instanceof Failure)) return wrong(name, errorMessage(error), "Run again with MIC_LOG_LEVEL=debug.");
  return wrong(name, error.facts.message, forUser(error.facts).next ?? "Try again later.");
}

/** `detail` returns what is good, or throws. */
const attempt = (name: string, detail: () => Promise<string>): Promise<Check> =>
  detail().then(
    (text) => good(name, text),
    (error: unknown) => failed(name, error),
  );

export function checkNode(): Check {
  const [major = 0] = process.versions.node.split(".").map(Number);
  const advice = major < 22 ? " (works; Node 24 is recommended, 20 is past its end of life)" : "";
  return good("node", `${process.versions.node}${advice}`);
}

export function checkWarnings({ warnings }: Config): Check {
  return warnings.length === 0
    ? good("configuration", "every MIC_ variable is known and valid")
    : wrong("configuration", warnings.join(" "), "Correct or unset the variables named.");
}

/** Writes, reads and deletes an entry of its own. */
export async function checkKeychain(keychain: Keychain | undefined, { keychain: mode }: Config): Promise<Check> {
  if (!keychain && mode !== "off") return good("keychain", "not asked: the emulator is in this process");
  if (!keychain) return good("keychain", "off, as MIC_KEYCHAIN says; tokens stay in memory");
  const account = `doctor ${randomBytes(8).toString("hex")}`;
  try {
    await keychain.setPassword(account, account);
    const read = await keychain.getPassword(account);
    await keychain.deletePassword(account);
    if (read === account) return good("keychain", "an entry was written, read back and deleted");
    const failure = new KeychainError("failed", "an entry read back was not what had been written");
    return wrong("keychain", failure.message, failure.fix);
  } catch (error) {
    if (!(error instanceof KeychainError)) throw error;
    if (error.kind === "absent" && mode === "auto") return good("keychain", `${error.message}; tokens stay in memory`);
    return wrong("keychain", error.message, error.fix);
  }
}

export const checkBaseUrl = (identity: Identity): Promise<Check> => attempt("service", identity.baseUrl);

export const checkToken = (identity: Identity, tokens: Tokens): Promise<Check> =>
  attempt("token", async () => {
    const { clientId } = await identity.credentials();
    await tokens.get(getMicPublicCapabilities.scopesToRequest, context());
    return `the token endpoint accepts client ${clientId}`;
  });

export const checkPlayground = (service: ApiClient): Promise<Check> =>
  attempt("geography API", async () => {
    const { value } = await service.call(listPlaygroundStates, {}, context());
    return `answers with ${value.states.length} states`;
  });

/** With a default workspace the capabilities of it; without one, any answer to a token of ours shows that the API works. */
export const checkJobApi = (service: ApiClient, identity: Identity): Promise<Check> =>
  attempt("job API", async () => {
    const workspaceId = await identity.workspaceId();
    if (workspaceId !== undefined) {
      const { value } = await service.call(getMicPublicCapabilities, { query: { workspaceId } }, context());
      return `workspace ${workspaceId} has ${value.data.capabilities.length} capabilities`;
    }
    try {
      await service.call(getMicPublicOperation, { path: { operationId: "mic-mcp-doctor" } }, context());
      return "answers";
    } catch (error) {
      if (!(error instanceof Failure) || error.facts.kind !== "not_found") throw error;
      return "answers; no default workspace is set";
    }
  });

const MAX_SKEW_SECONDS = 60;

/** Compares our clock with the API's Date header: token lifetimes and `expiresAt` depend on it. */
export async function checkClock(service: ApiClient): Promise<Check> {
  try {
    const target = toWireTarget(await service.baseUrl(), (listPlaygroundStates satisfies Endpoint).path);
    const limits = { maxBytes: 1 << 20, timeoutMs: LIMIT_MS, signal: new AbortController().signal };
    const { headers } = await service.transport.exchange({ method: "GET", ...target, headers: {} }, limits);
    const theirs = Date.parse(headers["date"] ?? "");
    if (Number.isNaN(theirs)) return good("clock", "the service states no time to compare with");
    const skewSeconds = Math.round((Date.now() - theirs) / 1000);
    if (Math.abs(skewSeconds) <= MAX_SKEW_SECONDS)
      return good("clock", `within ${Math.abs(skewSeconds) + 1} s of the service's`);
    const detail = `${Math.abs(skewSeconds)} s ${skewSeconds > 0 ? "ahead of" : "behind"} the service's`;
    return wrong("clock", detail, "Set this machine's clock (on Linux: timedatectl set-ntp true).");
  } catch (error) {
    return wrong("clock", `could not be compared: ${errorMessage(error)}`, "Mend the geography API's line first.");
  }
}

/** Permissions are not enough on a read-only or remote disk, so the folder itself is written to. */
async function tryWriting(at: string, itself: boolean): Promise<void> {
  await access(at, constants.W_OK | constants.X_OK);
  if (itself) await rmdir(await mkdtemp(join(at, ".mic-mcp-doctor-")));
}

/** A folder that exists or can be created. `isPrivate`: others must not be able to read it. */
export async function checkFolder(name: string, folder: string, variable: string, isPrivate: boolean): Promise<Check> {
  let at = folder;
  for (;;) {
    let exists = false;
    try {
      const found = await stat(at);
      exists = true;
      if (!found.isDirectory()) return wrong(name, `${at} is no folder`, `Set ${variable} to a folder.`);
      await tryWriting(at, at === folder);
      if (at !== folder) return good(name, `${folder} (will be made when needed)`);
      const open = isPrivate && process.platform !== "win32" && (found.mode & 0o077) !== 0;
      return open
        ? wrong(name, `${folder} can be read by others`, `chmod 700 ${formatJson(folder)}`)
        : good(name, folder);
    } catch (error) {
      if (exists || errorCode(error) !== "ENOENT" || dirname(at) === at)
        return wrong(name, `${at} cannot be written to`, `Set ${variable} to a folder of yours.`);
      at = dirname(at);
    }
  }
}

export const checkJournal = (config: Config, journal: JournalHandle): Promise<Check> =>
  attempt("journal", async () => journalText(await lookAtJournal(config, journal)));

export function checkProxy(environment: NodeJS.ProcessEnv): Check {
  const names = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy"];
  const set = [...names, "NODE_EXTRA_CA_CERTS"].filter((name) => environment[name]);
  // Values are left out: a proxy's URL can hold a password.
  return good("proxy", set.length === 0 ? "none set" : `${set.join(", ")} set`);
}
