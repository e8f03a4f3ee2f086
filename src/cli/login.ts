// `mic-mcp login`: asks for the client credentials, proves them by fetching a token, then keeps them in the OS keychain.
import { parseArgs } from "node:util";
import { createIdentity } from "../auth/identity.ts";
import { COMMAND_LIMIT_MS, type Keychain, KeychainError, openKeychain } from "../auth/keychain.ts";
import { readLogin, removeLogin, removeTokens, type StoredLogin, scopeSets, storeLogin } from "../auth/login.ts";
import { createRedactor } from "../auth/redaction.ts";
import { noTokenStore } from "../auth/token-store.ts";
import { createTokens } from "../auth/tokens.ts";
import { checkBaseUrl, checkCredential, checkWorkspaceId, readConfig, UsageError } from "../config.ts";
import { Failure } from "../failure.ts";
import { CALL_LIMIT_MS, systemTiming } from "../service/attempts.ts";
import { createTransport } from "../service/transport.ts";
import { ask, askSecret, isInteractive, readSecretFromStdin } from "./prompt.ts";

const OPTIONS = {
  "base-url": { type: "string" },
  "client-id": { type: "string" },
  "workspace-id": { type: "string" },
  "secret-stdin": { type: "boolean" },
} as const;

const FLAGS = "mic-mcp login --base-url U --client-id I [--workspace-id W] --secret-stdin";

async function collect(args: readonly string[]): Promise<StoredLogin> {
  const { values } = parseArgs({ args: [...args], options: OPTIONS });
  const fromStdin = values["secret-stdin"] === true;
  const complete = values["base-url"] !== undefined && values["client-id"] !== undefined && fromStdin;
  if (!complete && (fromStdin || !isInteractive()))
    throw new UsageError(`There is no terminal to ask on: give everything, with the secret on stdin: ${FLAGS}`);
  const baseUrl = checkBaseUrl(values["base-url"] ?? (await ask("Base URL of the service: ")));
  const clientId = checkCredential("client id", values["client-id"] ?? (await ask("Client id: ")));
  const secret = fromStdin ? await readSecretFromStdin() : await askSecret("Client secret (not shown): ");
  const clientSecret = checkCredential("client secret", secret);
  const workspaceId = values["workspace-id"] ?? (complete ? "" : await ask("Default workspace id (empty for none): "));
  return { baseUrl, clientId, clientSecret, ...(workspaceId !== "" && { workspaceId: checkWorkspaceId(workspaceId) }) };
}

/** Runs `work` on the keychain; one that cannot be used is told together with the way without it. */
async function withKeychain<T>(work: (keychain: Keychain) => Promise<T>): Promise<T> {
  const keychain = openKeychain(COMMAND_LIMIT_MS);
  try {
    return await work(keychain);
  } catch (error) {
    if (!(error instanceof KeychainError)) throw error;
    throw new Error(
      `${error.message}. Without a keychain, set MIC_CLIENT_ID and MIC_CLIENT_SECRET where the server starts.`,
    );
  } finally {
    keychain.close();
  }
}

/** A token for any of the scope sets proves the pair; so does "this client may not have that scope". */
async function prove({ baseUrl, workspaceId, ...credentials }: StoredLogin): Promise<void> {
  const redactor = createRedactor();
  const transport = createTransport();
  const given = { baseUrl, workspaceId, credentials };
  const identity = createIdentity({ given, keychain: undefined, required: false, redactor, now: Date.now });
  const tokens = createTokens({ identity, store: noTokenStore, transport, timing: systemTiming, redactor });
  const context = { signal: new AbortController().signal, deadlineAt: Date.now() + CALL_LIMIT_MS };
  try {
    await tokens.get(scopeSets[0] ?? [], context);
  } catch (error) {
    if (!(error instanceof Failure && error.facts.code === "invalid_scope")) throw error;
  } finally {
    await transport.close();
  }
}

export async function login(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  if (readConfig(environment).keychain === "off")
    throw new UsageError(
      "MIC_KEYCHAIN=off: a login would have nowhere to go. Unset it, or set MIC_CLIENT_ID and MIC_CLIENT_SECRET instead.",
    );
  const entered = await collect(args);
  await prove(entered);
  await withKeychain(async (keychain) => {
    const before = await readLogin(keychain);
    if (before) await removeTokens(keychain, before);
    await storeLogin(keychain, entered);
  });
  const workspace =
    entered.workspaceId === undefined ? "no default workspace" : `default workspace ${entered.workspaceId}`;
  process.stdout.write(
    `Logged in to ${entered.baseUrl} as ${entered.clientId}, ${workspace}. Kept in the OS keychain.\n`,
  );
  return 0;
}

/** `mic-mcp logout`: nothing of the login stays in the keychain. */
export async function logout(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  parseArgs({ args: [...args], options: {} });
  const config = readConfig(environment);
  if (config.keychain === "off")
    throw new UsageError("MIC_KEYCHAIN=off: there is no keychain to remove anything from.");
  return await withKeychain(async (keychain) => {
    const stored = await readLogin(keychain);
    const removed = await removeLogin(keychain);
    let tokens = stored ? await removeTokens(keychain, stored) : 0;
    // Tokens of credentials that came from the environment lie in the keychain too.
    if (config.baseUrl !== undefined && config.credentials)
      tokens += await removeTokens(keychain, { baseUrl: config.baseUrl, clientId: config.credentials.clientId });
    process.stdout.write(
      removed || tokens > 0
        ? `Logged out${stored ? ` of ${stored.baseUrl}` : ""}: credentials and ${tokens} tokens removed from the OS keychain.\n`
        : "Nothing was stored.\n",
    );
    return 0;
  });
}
