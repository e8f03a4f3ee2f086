// The OS keychain's addon behind a keytar-shaped port, for the keychain's own thread: a call may block for ever.

// Linux: the Secret Service, never the kernel's keyutils, which forgets at reboot. Other systems have one store.
const STORE = { linux: { store: "secret-service" } } as const;

async function entryOf(service: string, account: string) {
  const { AsyncEntry } = await import("@napi-rs/keyring");
  return new AsyncEntry(service, account, STORE);
}

// Bytes, not text: Windows counts 2560 bytes for a secret and would take UTF-16 for text.

export async function getPassword(service: string, account: string): Promise<string | undefined> {
  const bytes = await (await entryOf(service, account)).getSecret();
  return bytes ? Buffer.from(bytes).toString("utf8") : undefined;
}

export const setPassword = async (service: string, account: string, password: string): Promise<void> =>
  await (await entryOf(service, account)).setSecret(Buffer.from(password, "utf8"));

/** The names of all entries of a service. */
export async function listAccounts(service: string): Promise<readonly string[]> {
  const { findCredentialsAsync } = await import("@napi-rs/keyring");
  return (await findCredentialsAsync(service)).map(({ account }) => account);
}

/** False when there was none. */
export const deletePassword = async (service: string, account: string): Promise<boolean> =>
  await (await entryOf(service, account)).deleteCredential();
