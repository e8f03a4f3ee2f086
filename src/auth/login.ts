// What `mic-mcp login` stores: one keychain entry with the base URL, the client and its secret. Nothing of it is in a file.
import * as z from "zod/v4";
import { scopesToRequest } from "../contract/endpoints/endpoint.ts";
import { endpoints } from "../contract/endpoints/index.ts";
import type { Keychain } from "./keychain.ts";

const StoredLogin = z.object({
  baseUrl: z.string(),
  clientId: z.string(),
  clientSecret: z.string(),
  workspaceId: z.string().optional(),
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

export const storeLogin = (keychain: Keychain, login: StoredLogin): Promise<void> =>
  keychain.setPassword(ACCOUNT, JSON.stringify(login));

export const removeLogin = (keychain: Keychain): Promise<boolean> => keychain.deletePassword(ACCOUNT);

/** Whose token: one for each base URL, client and scope set. */
export interface TokenOwner {
  readonly baseUrl: string;
  readonly clientId: string;
}

export const tokenAccount = ({ baseUrl, clientId }: TokenOwner, scopes: readonly string[]): string =>
  JSON.stringify(["token", baseUrl, clientId, [...scopes].sort().join(" ")]);

/** The contract's scope sets (section 5), each once: every token there can be. */
export const scopeSets: readonly (readonly string[])[] = [
  ...new Map(
    endpoints.map((endpoint) => scopesToRequest(endpoint)).map((scopes) => [[...scopes].sort().join(" "), scopes]),
  ).values(),
].filter((scopes) => scopes.length > 0);

/** Removes every token of this owner; how many there were. Throws KeychainError. */
export async function removeTokens(keychain: Keychain, owner: TokenOwner): Promise<number> {
  let removed = 0;
  for (const scopes of scopeSets) if (await keychain.deletePassword(tokenAccount(owner, scopes))) removed += 1;
  return removed;
}
