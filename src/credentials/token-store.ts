// Stores tokens in the OS keychain, so that the next process does not request its own; if it fails, only in memory.
import * as z from "zod/v4";
import { parseJson } from "../contract/json.ts";
import { fitsKeychain, type Keychain, KeychainError } from "./keychain/keychain.ts";
import { type TokenOwner, tokenAccount } from "./login.ts";
import { accessToken } from "./oauth.ts";

const StoredToken = z.object({
  value: accessToken,
  /** Milliseconds since 1970. */
  obtainedAt: z.int(),
  /** Milliseconds since 1970, by the lifetime that the API stated; absent if it stated none. */
  expiresAt: z.int().optional(),
});
export type StoredToken = z.infer<typeof StoredToken>;

/** Returns the stored token, or undefined if there is none or the entry is not valid. Throws KeychainError. */
export async function readToken(
  keychain: Keychain,
  owner: TokenOwner,
  scopes: readonly string[],
): Promise<StoredToken | undefined> {
  const text = await keychain.getPassword(tokenAccount(owner, scopes));
  return text === undefined ? undefined : StoredToken.safeParse(parseJson(text)).data;
}

/** A failing keychain is not used for this long, because each attempt would cost a call seconds. */
const COOLDOWN_MS = 60_000;

export type TokenStore = ReturnType<typeof createKeychainTokenStore>;

/** `onError` receives each KeychainError; none is thrown, because a token can always be requested again. */
export function createKeychainTokenStore(
  keychain: Keychain,
  now: () => number,
  onError: (error: KeychainError) => void,
) {
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
    load: (owner: TokenOwner, scopes: readonly string[]): Promise<StoredToken | undefined> =>
      withCooldown(() => readToken(keychain, owner, scopes)),
    async save(owner: TokenOwner, scopes: readonly string[], token: StoredToken): Promise<void> {
      const text = JSON.stringify(token);
      if (fitsKeychain(text)) await withCooldown(() => keychain.setPassword(tokenAccount(owner, scopes), text));
    },
    /** Removes the entry if it still contains this token. */
    async remove(owner: TokenOwner, scopes: readonly string[], value: string): Promise<void> {
      await withCooldown(async () => {
        const stored = await readToken(keychain, owner, scopes);
        if (stored?.value === value) await keychain.deletePassword(tokenAccount(owner, scopes));
      });
    },
  };
}
