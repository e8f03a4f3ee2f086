// The OS keychain's addon behind a keytar-shaped port, for the keychain's own thread: a call may block for ever.
import type { AsyncEntry } from "@napi-rs/keyring";

// Linux: the Secret Service, never the kernel's keyutils, which forgets at reboot. Other systems have one store.
const STORE = { linux: { store: "secret-service" } } as const;

/** Kept, since each holds a connection to the bus until it is collected: and of those a user has 256, for all programs. */
const entries = new Map<string, AsyncEntry>();

async function withEntry<T>(service: string, account: string, work: (entry: AsyncEntry) => Promise<T>): Promise<T> {
  const { AsyncEntry } = await import("@napi-rs/keyring");
  const name = JSON.stringify([service, account]);
  const entry = entries.get(name) ?? new AsyncEntry(service, account, STORE);
  // One that fails is not used again: the keychain may have been started anew, and knows it no more.
  entries.delete(name);
  const result = await work(entry);
  entries.set(name, entry);
  return result;
}

// Bytes, not text: Windows counts 2560 bytes for a secret and would take UTF-16 for text.

export async function getPassword(service: string, account: string): Promise<string | undefined> {
  const bytes = await withEntry(service, account, (entry) => entry.getSecret());
  return bytes ? Buffer.from(bytes).toString("utf8") : undefined;
}

export const setPassword = async (service: string, account: string, password: string): Promise<void> =>
  await withEntry(service, account, (entry) => entry.setSecret(Buffer.from(password, "utf8")));

/** The names of all entries of a service. */
export async function listAccounts(service: string): Promise<readonly string[]> {
  const { findCredentialsAsync } = await import("@napi-rs/keyring");
  return (await findCredentialsAsync(service)).map(({ account }) => account);
}

/** False when there was none. */
export const deletePassword = async (service: string, account: string): Promise<boolean> =>
  await withEntry(service, account, (entry) => entry.deleteCredential());
