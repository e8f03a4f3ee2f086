// `mic-mcp login`: asks for the client credentials, proves them by fetching a token, then keeps them in the OS keychain.
import { parseArgs } from "node:util";
import { checkBaseUrl, checkCredential, checkWorkspaceId, readConfig, UsageError } from "../config.ts";
import { COMMAND_LIMIT_MS, type Keychain, KeychainError, openKeychain } from "../credentials/keychain/keychain.ts";
import { fitsLogin, readLogin, removeAll, type StoredLogin, storeLogin } from "../credentials/login.ts";
import { escaped } from "../outside.ts";
import { COMMANDS } from "./commands.ts";
import { unresolvedElsewhere } from "./journal.ts";
import { isInteractive, openPrompter, type Prompter, readSecretFromStdin } from "./prompt.ts";
import { prove } from "./prove.ts";

const FLAGS = "mic-mcp login --base-url U --client-id I [--workspace-id W] --secret-stdin";

interface Flags {
  readonly baseUrl: string | undefined;
  readonly clientId: string | undefined;
  readonly workspaceId: string | undefined;
  readonly secretOnStdin: boolean;
}

/** Throws UsageError for a wrong flag, and for a missing one where nobody can be asked. */
function readFlags(args: readonly string[]): Flags {
  const { values } = parseArgs({ args: [...args], options: COMMANDS.login.flags });
  const { "base-url": baseUrl, "client-id": clientId, "workspace-id": workspaceId } = values;
  const secretOnStdin = values["secret-stdin"] === true && process.stdin.isTTY !== true;
  const missing = [
    ...(baseUrl === undefined ? ["--base-url"] : []),
    ...(clientId === undefined ? ["--client-id"] : []),
    ...(secretOnStdin ? [] : ["--secret-stdin"]),
  ];
  if (missing.length > 0 && (secretOnStdin || !isInteractive()))
    throw new UsageError(`There is no terminal to ask on, and ${missing.join(", ")} is missing: ${FLAGS}`);
  return {
    baseUrl: baseUrl === undefined ? undefined : checkBaseUrl(baseUrl),
    clientId: clientId === undefined ? undefined : checkCredential("client id", clientId),
    workspaceId: workspaceId === undefined ? undefined : checkWorkspaceId(workspaceId),
    secretOnStdin,
  };
}

/**
 * Asks until the answer is right. Whoever has pasted all answers at once is not asked again: the next of them, perhaps the
 * secret, would be taken for this one, and shown.
 */
async function askUntilRight<T>(prompter: Prompter, ask: () => Promise<string>, read: (text: string) => T): Promise<T> {
  for (;;) {
    try {
      return read(await ask());
    } catch (error) {
      if (!(error instanceof UsageError) || prompter.isAhead()) throw error;
      process.stderr.write(`${error.message}\n`);
    }
  }
}

/** What is stored stands in brackets; nothing typed keeps it. */
const withDefault = (question: string, stored: string | undefined): string =>
  stored === undefined ? `${question}: ` : `${question} [${escaped(stored)}]: `;

const NO_WORKSPACE = "-";

async function askFor(flags: Flags, prompter: Prompter, stored: Partial<StoredLogin>): Promise<StoredLogin> {
  const asked = <T>(question: string, kept: string | undefined, read: (text: string) => T): Promise<T> =>
    askUntilRight(
      prompter,
      () => prompter.ask(withDefault(question, kept)),
      (text) => read(text === "" ? (kept ?? "") : text),
    );
  const baseUrl = flags.baseUrl ?? (await asked("Base URL of the service", stored.baseUrl, checkBaseUrl));
  // What is stored belongs to its service, and a secret to its client.
  const known = stored.baseUrl === baseUrl ? stored : {};
  const clientId =
    flags.clientId ?? (await asked("Client id", known.clientId, (text) => checkCredential("client id", text)));
  const secret = known.clientId === clientId ? known.clientSecret : undefined;
  const hint = secret === undefined ? "not shown" : "not shown; empty keeps the stored one";
  const clientSecret = await askUntilRight(
    prompter,
    () => prompter.askSecret(`Client secret (${hint}): `),
    (text) => checkCredential("client secret", text === "" ? (secret ?? "") : text),
  );
  const workspace = known.workspaceId;
  const question = `Default workspace id (${workspace === undefined ? "empty" : NO_WORKSPACE} for none)`;
  const workspaceId =
    flags.workspaceId ??
    (await asked(question, workspace, (text) => (text === "" || text === NO_WORKSPACE ? "" : checkWorkspaceId(text))));
  return { baseUrl, clientId, clientSecret, ...(workspaceId !== "" && { workspaceId }) };
}

async function collect(flags: Flags, stored: Partial<StoredLogin>): Promise<StoredLogin> {
  const { baseUrl, clientId, workspaceId } = flags;
  if (flags.secretOnStdin && baseUrl !== undefined && clientId !== undefined) {
    const clientSecret = checkCredential("client secret", await readSecretFromStdin());
    return { baseUrl, clientId, clientSecret, ...(workspaceId !== undefined && { workspaceId }) };
  }
  const prompter = openPrompter();
  try {
    return await askFor(flags, prompter, stored);
  } finally {
    prompter.close();
  }
}

/** Runs `work` on the keychain; one that cannot be used is told together with the way without it. */
async function withKeychain<T>(work: (keychain: Keychain) => Promise<T>): Promise<T> {
  const keychain = openKeychain(COMMAND_LIMIT_MS);
  try {
    return await work(keychain);
  } catch (error) {
    if (!(error instanceof KeychainError)) throw error;
    throw new Error(
      `${error.message}. ${error.fix} Without a keychain, set MIC_CLIENT_ID and MIC_CLIENT_SECRET where the server starts; mic-mcp doctor says more.`,
    );
  } finally {
    keychain.close();
  }
}

export async function login(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const flags = readFlags(args);
  const config = readConfig(environment);
  if (config.keychain === "off")
    throw new UsageError(
      "MIC_KEYCHAIN=off: a login would have nowhere to go. Unset it, or set MIC_CLIENT_ID and MIC_CLIENT_SECRET instead.",
    );
  return await withKeychain(async (keychain) => {
    // One that cannot be used is told before anybody types a secret.
    const stored = await readLogin(keychain);
    const entered = await collect(flags, stored ?? {});
    if (!fitsLogin(entered)) throw new UsageError("This system's keychain has no room for a client secret that long.");
    await prove(entered);
    await storeLogin(keychain, entered);
    const { baseUrl, clientId, workspaceId } = entered;
    for (const warning of await unresolvedElsewhere(config, entered)) process.stderr.write(`${escaped(warning)}\n`);
    const workspace = workspaceId === undefined ? "no default workspace" : `default workspace ${workspaceId}`;
    process.stdout.write(`Logged in to ${baseUrl} as ${clientId}, ${workspace}. Kept in the OS keychain.\n`);
    return 0;
  });
}

/** `mic-mcp logout`: nothing of ours stays in the keychain. */
export async function logout(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  parseArgs({ args: [...args], options: COMMANDS.logout.flags });
  const config = readConfig(environment);
  if (config.keychain === "off")
    throw new UsageError("MIC_KEYCHAIN=off: there is no keychain to remove anything from.");
  return await withKeychain(async (keychain) => {
    const stored = await readLogin(keychain);
    const removed = await removeAll(keychain);
    const of = stored ? ` of ${stored.baseUrl}` : "";
    const parts = [
      ...(removed.login ? ["credentials"] : []),
      ...(removed.tokens > 0 ? [`tokens: ${removed.tokens}`] : []),
    ];
    process.stdout.write(
      parts.length === 0
        ? "Nothing was stored.\n"
        : `Logged out${of}. Removed from the OS keychain: ${parts.join(", ")}.\n`,
    );
    return 0;
  });
}
