// Implements `mic-mcp login`, which verifies client credentials and stores them in the OS keychain, and `mic-mcp logout`.
import { CALL_LIMIT_MS, systemTiming } from "../api-client/attempts.ts";
import { createTransport } from "../api-client/transport.ts";
import { getMicPublicCapabilities } from "../contract/endpoints/job-processing.ts";
import {
  type Config,
  checkBaseUrl,
  checkCredential,
  checkWorkspaceId,
  readConfig,
  UsageError,
} from "../core/config.ts";
import { Failure } from "../core/failure.ts";
import { mapData, say } from "../core/text.ts";
import { escapeText } from "../core/untrusted-text.ts";
import { createIdentity } from "../credentials/identity.ts";
import {
  COMMAND_LIMIT_MS,
  type Keychain,
  KeychainError,
  openKeychain,
  WITHOUT_KEYCHAIN,
} from "../credentials/keychain/keychain.ts";
import {
  canStoreLogin,
  readLogin,
  removeLogin,
  type StoredLogin,
  scopeSets,
  storeLogin,
} from "../credentials/login.ts";
import { createRedactor } from "../credentials/redaction.ts";
import type { ArgumentsOf, RunCommand } from "./commands.ts";
import { createApiConnection } from "./components.ts";
import { warnOfOtherClientsActions } from "./journal.ts";
import { isInteractive, openPrompter, type Prompter, readSecretFromStdin } from "./prompt.ts";
import { printOutcome } from "./terminal.ts";

/** With `verifiesWorkspace`, also reads the workspace; invalid_scope shows that the credentials are valid. Throws Failure. */
export async function tryCredentials(
  { baseUrl, workspaceId, ...credentials }: StoredLogin,
  verifiesWorkspace = false,
): Promise<void> {
  const redactor = createRedactor();
  redactor.add(credentials.clientSecret);
  const transport = createTransport();
  const settings = { baseUrl, workspaceId, credentials };
  const identity = createIdentity({ settings, keychain: undefined, required: false, redactor, now: Date.now });
  const { tokens, api } = createApiConnection({ identity, redactor, transport }, { timing: systemTiming });
  const context = { signal: new AbortController().signal, deadlineAt: systemTiming.clockMs() + CALL_LIMIT_MS };
  try {
    await tokens.get(scopeSets[0] ?? [], context);
    if (!verifiesWorkspace) return;
    await api.call(getMicPublicCapabilities, { query: { workspaceId } }, context);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    if (error.facts.code === "invalid_scope") return;
    throw error.with({ message: mapData(error.facts.message, redactor.redact) });
  } finally {
    await transport.close();
  }
}

/** Like `tryCredentials`, for credentials that are then stored. */
export const verifyCredentials = (...given: Parameters<typeof tryCredentials>): Promise<void> =>
  tryCredentials(...given).catch((error: unknown) => {
    throw error instanceof Failure ? error.with({ message: say`${error.facts.message} Nothing was stored.` }) : error;
  });

const FLAGS = "mic-mcp login --base-url U --client-id I [--workspace-id W] --secret-stdin";

function readFlags({ values }: ArgumentsOf<"login">) {
  const { "base-url": baseUrl, "client-id": clientId, "workspace-id": workspaceId } = values;
  const secretOnStdin = values["secret-stdin"] === true && process.stdin.isTTY !== true;
  const missing = [
    ...(baseUrl === undefined ? ["--base-url"] : []),
    ...(clientId === undefined ? ["--client-id"] : []),
    ...(secretOnStdin ? [] : ["--secret-stdin"]),
  ];
  if (missing.length > 0 && (secretOnStdin || !isInteractive()))
    throw new UsageError(`Cannot prompt for ${missing.join(", ")} because stdin is not a terminal. Use: ${FLAGS}`);
  return {
    baseUrl: baseUrl === undefined ? undefined : checkBaseUrl(baseUrl),
    clientId: clientId === undefined ? undefined : checkCredential("client id", clientId),
    workspaceId: workspaceId === undefined ? undefined : checkWorkspaceId(workspaceId),
    secretOnStdin,
    profile: values.profile,
    isJson: values.json,
  };
}

/** --profile overrides MIC_PROFILE. Throws UsageError. */
const readProfileConfig = (environment: NodeJS.ProcessEnv, profile: string | undefined): Config =>
  readConfig(profile === undefined ? environment : { ...environment, MIC_PROFILE: profile });

/** Throws UsageError while input is pending: the next pasted answer, perhaps the secret, would be taken for this one and shown. */
async function askUntilValid(
  prompter: Prompter,
  ask: () => Promise<string>,
  stored: string | undefined,
  check: (text: string) => string,
): Promise<string> {
  for (;;) {
    try {
      return check((await ask()) || (stored ?? ""));
    } catch (error) {
      if (!(error instanceof UsageError) || prompter.hasPendingInput()) throw error;
      process.stderr.write(`${error.message}\n`);
    }
  }
}

const NO_WORKSPACE = "-";

async function promptForLogin(
  flags: ReturnType<typeof readFlags>,
  prompter: Prompter,
  previous: Partial<StoredLogin>,
): Promise<StoredLogin> {
  function ask(question: string, stored: string | undefined, check: (text: string) => string): Promise<string> {
    const shown = stored === undefined ? "" : ` [${escapeText(stored)}]`;
    return askUntilValid(prompter, () => prompter.ask(`${question}${shown}: `), stored, check);
  }
  const baseUrl = flags.baseUrl ?? (await ask("Base URL of the MIC API", previous.baseUrl, checkBaseUrl));
  // Stored values apply only to their base URL, and a secret only to its client.
  const known = previous.baseUrl === baseUrl ? previous : {};
  const checkClientId = (text: string) => checkCredential("client id", text);
  const clientId = flags.clientId ?? (await ask("Client id", known.clientId, checkClientId));
  const secret = known.clientId === clientId ? known.clientSecret : undefined;
  const hint = secret === undefined ? "not shown" : "not shown; leave empty to keep the stored secret";
  const askSecret = () => prompter.askSecret(`Client secret (${hint}): `);
  const checkSecret = (text: string) => checkCredential("client secret", text);
  const clientSecret = await askUntilValid(prompter, askSecret, secret, checkSecret);
  const question = `Default workspace id (micws_…, copied in the console; ${known.workspaceId === undefined ? "leave empty" : NO_WORKSPACE} for none)`;
  const checkWorkspace = (text: string) => (text === "" || text === NO_WORKSPACE ? "" : checkWorkspaceId(text));
  const workspaceId = flags.workspaceId ?? (await ask(question, known.workspaceId, checkWorkspace));
  return { baseUrl, clientId, clientSecret, ...(workspaceId !== "" && { workspaceId }) };
}

async function collectLogin(flags: ReturnType<typeof readFlags>, stored: Partial<StoredLogin>): Promise<StoredLogin> {
  const { baseUrl, clientId, workspaceId } = flags;
  if (flags.secretOnStdin && baseUrl !== undefined && clientId !== undefined) {
    const clientSecret = checkCredential("client secret", await readSecretFromStdin());
    return { baseUrl, clientId, clientSecret, workspaceId };
  }
  const prompter = openPrompter();
  try {
    return await promptForLogin(flags, prompter, stored);
  } finally {
    prompter.close();
  }
}

/** Runs `work` on the keychain. If the keychain cannot be used, the error also explains the alternative. Throws UsageError if it is off. */
async function withKeychain<T>(config: Config, off: string, work: (keychain: Keychain) => Promise<T>): Promise<T> {
  if (config.keychain === "off") throw new UsageError(`MIC_KEYCHAIN=off: ${off}`);
  const keychain = openKeychain(COMMAND_LIMIT_MS);
  try {
    return await work(keychain);
  } catch (error) {
    throw error instanceof KeychainError ? new Error(`${error.message}. ${error.fix}`) : error;
  } finally {
    keychain.close();
  }
}

export const login: RunCommand<"login"> = async (args, environment) => {
  const flags = readFlags(args);
  const config = readProfileConfig(environment, flags.profile);
  const { profile } = config;
  const off = `the login cannot be stored. Unset MIC_KEYCHAIN to store it. ${WITHOUT_KEYCHAIN}`;
  return await withKeychain(config, off, async (keychain) => {
    // A keychain that cannot be used is reported before the user types a secret.
    const stored = await readLogin(keychain, profile);
    const entered = await collectLogin(flags, stored ?? {});
    if (!canStoreLogin(entered)) throw new UsageError("The client secret is too long for this system's keychain.");
    await verifyCredentials(entered);
    await storeLogin(keychain, profile, entered);
    const { baseUrl, clientId, workspaceId } = entered;
    for (const warning of await warnOfOtherClientsActions(config, entered))
      process.stderr.write(`${escapeText(warning)}\n`);
    const workspace = workspaceId === undefined ? "no default workspace" : `default workspace ${workspaceId}`;
    printOutcome(
      flags.isJson,
      `Logged in to ${baseUrl} as ${clientId}, ${workspace}. The credentials are stored in the OS keychain.${profile === undefined ? "" : ` Set MIC_PROFILE=${profile} to use them.`}`,
      { baseUrl, clientId, workspaceId, profile: profile ?? "default" },
    );
    return 0;
  });
};

/** A machine without a keychain stores no login. Throws KeychainError. */
async function removeStored(keychain: Keychain, profile: string | undefined) {
  try {
    const stored = await readLogin(keychain, profile);
    return { from: stored?.baseUrl, removed: await removeLogin(keychain, profile) };
  } catch (error) {
    if (!(error instanceof KeychainError) || error.kind !== "absent") throw error;
    return { from: undefined, removed: { login: false, tokens: 0 } };
  }
}

export const logout: RunCommand<"logout"> = async ({ values }, environment) => {
  const config = readProfileConfig(environment, values.profile);
  return await withKeychain(config, "the keychain is off, so nothing can be removed from it.", async (keychain) => {
    const { from, removed } = await removeStored(keychain, config.profile);
    const parts = [
      ...(removed.login ? ["credentials"] : []),
      ...(removed.tokens > 0 ? [`tokens: ${removed.tokens}`] : []),
    ];
    printOutcome(
      values.json,
      parts.length === 0
        ? "Nothing was stored."
        : `Logged out${from === undefined ? "" : ` from ${from}`}. Removed from the OS keychain: ${parts.join(", ")}.`,
      { baseUrl: from, profile: config.profile ?? "default", removed },
    );
    return 0;
  });
};
