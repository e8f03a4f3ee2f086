// Tokens in the OS keychain, so that the next process need not ask for its own. Where the keychain fails, memory is enough.
import * as z from "zod/v4";
import { fitsKeychain, type Keychain, KeychainError } from "./keychain/keychain.ts";
import { type TokenOwner, tokenAccount } from "./login.ts";
import { accessToken } from "./oauth.ts";

const StoredToken = z.object({
  value: accessToken,
  /** Milliseconds since 1970. */
  obtainedAt: z.int(),
  /** As stated by the service; absent when it stated no lifetime. */
  expiresAt: z.int().optional(),
});
export type StoredToken = z.infer<typeof StoredToken>;

export interface TokenStore {
  load(owner: TokenOwner, scopes: readonly string[]): Promise<StoredToken | undefined>;
  save(owner: TokenOwner, scopes: readonly string[], token: StoredToken): Promise<void>;
  /** Removes the entry if it still holds this token. */
  remove(owner: TokenOwner, scopes: readonly string[], value: string): Promise<void>;
}

/** Throws KeychainError. */
export async function readToken(
  keychain: Keychain,
  owner: TokenOwner,
  scopes: readonly string[],
): Promise<StoredToken | undefined> {
  const text = await keychain.getPassword(tokenAccount(owner, scopes));
  if (text === undefined) return undefined;
  try {
    return StoredToken.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** A keychain in trouble is left alone for this long: waiting for it again and again would cost every call seconds. */
const COOLDOWN_MS = 60_000;

/** `onTrouble` hears of a failing keychain; nothing here throws, since a token can always be fetched anew. */
export function createKeychainTokenStore(
  keychain: Keychain,
  now: () => number,
  onError: (error: KeychainError) => void,
): TokenStore {
  let cooldownUntil = 0;

  async function withCooldown<T>(work: () => Promise<T>): Promise<T | undefined> {
    if (now() < cooldownUntil) return undefined;
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof KeychainError)) throw error;
      cooldownUntil = now() + COOLDOWN_MS;
      onError(error);
      return undefined;
    }
  }

  return {
    load: (owner, scopes) => withCooldown(() => readToken(keychain, owner, scopes)),
    async save(owner, scopes, token) {
      const text = JSON.stringify(token);
      if (fitsKeychain(text)) await withCooldown(() => keychain.setPassword(tokenAccount(owner, scopes), text));
    },
    async remove(owner, scopes, value) {
      await withCooldown(async () => {
        const stored = await readToken(keychain, owner, scopes);
        if (stored?.value === value) await keychain.deletePassword(tokenAccount(owner, scopes));
      });
    },
  };
}

/** Where there is no keychain: tokens live as long as the process. */
export const noTokenStore: TokenStore = {
  load: async () => undefined,
  save: async () => undefined,
  remove: async () => undefined,
};
