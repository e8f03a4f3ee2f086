// What `mic-mcp login` stores: one keychain entry with the base URL, the client and its secret. Nothing of it is in a file.
import * as z from "zod/v4";
import { endpoints } from "../contract/endpoints/index.ts";
import { workspaceStyleId } from "../contract/text.ts";
import { fitsKeychain, type Keychain, KeychainError } from "./keychain/keychain.ts";

const printable = z.string().regex(/^[\x20-\x7e]+$/);

// Another program may have written there: what is read is held to the rules of what was stored.
const StoredLogin = z.object({
  baseUrl: z.url({ protocol: /^https?$/ }),
  clientId: printable,
  clientSecret: printable,
  workspaceId: workspaceStyleId.optional(),
});
export type StoredLogin = z.infer<typeof StoredLogin>;

/** The one fixed account name, so that nothing ever has to be searched for. */
const ACCOUNT = "login";

/** Undefined when nobody has logged in, or what is stored is not ours. Throws KeychainError. */
export async function readLogin(keychain: Keychain): Promise<StoredLogin | undefined> {
  const text = await keychain.getPassword(ACCOUNT);
  if (text === undefined) return undefined;
  try {
    return StoredLogin.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** Whose token: one for each base URL, client and scope set. */
export interface TokenOwner {
  readonly baseUrl: string;
  readonly clientId: string;
}

/** The same for the same scopes in any order. */
export const scopeKey = (scopes: readonly string[]): string => [...scopes].sort().join(" ");

export const tokenAccount = ({ baseUrl, clientId }: TokenOwner, scopes: readonly string[]): string =>
  JSON.stringify(["token", baseUrl, clientId, scopeKey(scopes)]);

/** The contract's scope sets (section 5), each once: every token there can be. */
export const scopeSets: readonly (readonly string[])[] = [
  ...new Map(endpoints.map(({ scopesToRequest: scopes }) => [scopeKey(scopes), scopes])).values(),
].filter((scopes) => scopes.length > 0);

/** Every account of ours. Where a keychain cannot list them, those that the stored login leads to. */
async function listOwnAccounts(keychain: Keychain): Promise<ReadonlySet<string>> {
  try {
    return new Set([ACCOUNT, ...(await keychain.listAccounts())]);
  } catch (error) {
    if (!(error instanceof KeychainError && error.kind === "failed")) throw error;
    const login = await readLogin(keychain);
    return new Set([ACCOUNT, ...(login ? scopeSets.map((scopes) => tokenAccount(login, scopes)) : [])]);
  }
}

export interface RemovedEntries {
  readonly login: boolean;
  readonly tokens: number;
}

/** Removes every entry of ours, the tokens of all clients included. Throws KeychainError. */
export async function removeAllEntries(keychain: Keychain): Promise<RemovedEntries> {
  const removed = { login: false, tokens: 0 };
  for (const account of await listOwnAccounts(keychain)) {
    if (!(await keychain.deletePassword(account))) continue;
    if (account === ACCOUNT) removed.login = true;
    else removed.tokens += 1;
  }
  return removed;
}

/** Replaces the login that was there; its tokens go with it. Throws KeychainError. */
export async function storeLogin(keychain: Keychain, login: StoredLogin): Promise<void> {
  const before = await listOwnAccounts(keychain);
  await keychain.setPassword(ACCOUNT, JSON.stringify(login));
  for (const account of before) if (account !== ACCOUNT) await keychain.deletePassword(account);
}

export const canStoreLogin = (login: StoredLogin): boolean => fitsKeychain(JSON.stringify(login));
