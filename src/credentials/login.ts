// Stores each login of `mic-mcp login` in one keychain entry: base URL, client id, secret and an optional workspace, for each profile.
import * as z from "zod/v4";
import { endpoints } from "../contract/endpoints/index.ts";
import { parseJson } from "../contract/json.ts";
import { workspaceStyleId } from "../contract/scalars.ts";
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

const DEFAULT_ACCOUNT = "login";
const PROFILE_PREFIX = "login ";

/** The fixed account name of a profile's login, so that no search is needed. */
const accountOf = (profile: string | undefined): string =>
  profile === undefined ? DEFAULT_ACCOUNT : `${PROFILE_PREFIX}${profile}`;

const isLoginAccount = (account: string): boolean => account === DEFAULT_ACCOUNT || account.startsWith(PROFILE_PREFIX);

async function readAccount(keychain: Keychain, account: string): Promise<StoredLogin | undefined> {
  const text = await keychain.getPassword(account);
  return text === undefined ? undefined : StoredLogin.safeParse(parseJson(text)).data;
}

/** `profile`: undefined for the default login. Undefined if there is none or the entry is not valid. Throws KeychainError. */
export const readLogin = (keychain: Keychain, profile: string | undefined): Promise<StoredLogin | undefined> =>
  readAccount(keychain, accountOf(profile));

/** Returns the names of the stored profiles, "default" for the login without one. Throws KeychainError. */
export async function listProfiles(keychain: Keychain): Promise<readonly string[]> {
  const logins = (await keychain.listAccounts()).filter(isLoginAccount);
  return logins
    .map((account) => (account === DEFAULT_ACCOUNT ? "default" : account.slice(PROFILE_PREFIX.length)))
    .sort();
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

/** Returns all accounts of this program. If a keychain cannot list them, returns those that follow from the profile's login. */
async function listOwnAccounts(keychain: Keychain, profile: string | undefined): Promise<readonly string[]> {
  const account = accountOf(profile);
  try {
    return [...new Set([account, ...(await keychain.listAccounts())])];
  } catch (error) {
    if (!(error instanceof KeychainError && error.kind === "failed")) throw error;
    const login = await readLogin(keychain, profile);
    return [account, ...(login ? scopeSets.map((scopes) => tokenAccount(login, scopes)) : [])];
  }
}

/** Returns all accounts except the logins of other profiles and their tokens. */
async function listRemovableAccounts(keychain: Keychain, profile: string | undefined): Promise<readonly string[]> {
  const all = await listOwnAccounts(keychain, profile);
  const others = all.filter((account) => isLoginAccount(account) && account !== accountOf(profile));
  const kept = new Set(others);
  for (const account of others) {
    const login = await readAccount(keychain, account);
    if (login) for (const scopes of scopeSets) kept.add(tokenAccount(login, scopes));
  }
  return all.filter((account) => !kept.has(account));
}

/** Removes the login of a profile, and all tokens except those of other profiles. Throws KeychainError. */
export async function removeLogin(keychain: Keychain, profile: string | undefined) {
  const removed = { login: false, tokens: 0 };
  for (const account of await listRemovableAccounts(keychain, profile)) {
    if (!(await keychain.deletePassword(account))) continue;
    if (account === accountOf(profile)) removed.login = true;
    else removed.tokens += 1;
  }
  return removed;
}

/** Replaces the login of a profile, and removes the tokens of the previous one. Throws KeychainError. */
export async function storeLogin(keychain: Keychain, profile: string | undefined, login: StoredLogin): Promise<void> {
  const before = await listRemovableAccounts(keychain, profile);
  await keychain.setPassword(accountOf(profile), JSON.stringify(login));
  for (const account of before) if (account !== accountOf(profile)) await keychain.deletePassword(account);
}

export const canStoreLogin = (login: StoredLogin): boolean => fitsKeychain(JSON.stringify(login));
