// Stores the login of `mic-mcp login` in one keychain entry: base URL, client id and secret, and optionally a workspace. Nothing
// is stored in a file.
import * as z from "zod/v4";
import { endpoints } from "../contract/endpoints/index.ts";
import { workspaceStyleId } from "../contract/text.ts";
import { fitsKeychain, type Keychain, KeychainError } from "./keychain/keychain.ts";

const printable = z.string().regex(/^[\x20-\x7e]+$/);

// Another program may have written the entry, so it is validated when it is read.
const StoredLogin = z.object({
  baseUrl: z.url({ protocol: /^https?$/ }),
  clientId: printable,
  clientSecret: printable,
  workspaceId: workspaceStyleId.optional(),
});
export type StoredLogin = z.infer<typeof StoredLogin>;

/** The fixed account name of the login, so that no search is needed. */
const ACCOUNT = "login";

/** Returns the stored login, or undefined if there is none or the entry is not valid. Throws KeychainError. */
export async function readLogin(keychain: Keychain): Promise<StoredLogin | undefined> {
  const text = await keychain.getPassword(ACCOUNT);
  if (text === undefined) return undefined;
  try {
    return StoredLogin.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** The owner of tokens. There is one token for each base URL, client and scope set. */
export interface TokenOwner {
  readonly baseUrl: string;
  readonly clientId: string;
}

/** Returns the same key for the same scopes in any order. */
export const scopeKey = (scopes: readonly string[]): string => [...scopes].sort().join(" ");

export const tokenAccount = ({ baseUrl, clientId }: TokenOwner, scopes: readonly string[]): string =>
  JSON.stringify(["token", baseUrl, clientId, scopeKey(scopes)]);

/** The contract's scope sets (section 5), without duplicates: one for each token that can exist. */
export const scopeSets: readonly (readonly string[])[] = [
  ...new Map(endpoints.map(({ scopesToRequest: scopes }) => [scopeKey(scopes), scopes])).values(),
].filter((scopes) => scopes.length > 0);

/** Returns all accounts of this program. If a keychain cannot list them, returns those that follow from the stored login. */
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

/** Removes every entry of this program, including the tokens of all clients. Throws KeychainError. */
export async function removeAllEntries(keychain: Keychain): Promise<RemovedEntries> {
  const removed = { login: false, tokens: 0 };
  for (const account of await listOwnAccounts(keychain)) {
    if (!(await keychain.deletePassword(account))) continue;
    if (account === ACCOUNT) removed.login = true;
    else removed.tokens += 1;
  }
  return removed;
}

/** Replaces the stored login and removes the tokens of the previous one. Throws KeychainError. */
export async function storeLogin(keychain: Keychain, login: StoredLogin): Promise<void> {
  const before = await listOwnAccounts(keychain);
  await keychain.setPassword(ACCOUNT, JSON.stringify(login));
  for (const account of before) if (account !== ACCOUNT) await keychain.deletePassword(account);
}

export const canStoreLogin = (login: StoredLogin): boolean => fitsKeychain(JSON.stringify(login));
