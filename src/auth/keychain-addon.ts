// The OS keychain's addon behind a keytar-shaped port, for the keychain's own process: a call may block for seconds.
import { lstatSync } from "node:fs";

// Linux: the Secret Service, never the kernel's keyutils, which forgets at reboot. Other systems have one store.
const STORE = { linux: { store: "secret-service" } } as const;

/** MCP clients strip the environment: without the bus address the Secret Service cannot be found. */
function restoreBusAddress(): void {
  const uid = process.getuid?.();
  if (process.platform !== "linux" || uid === undefined || process.env["DBUS_SESSION_BUS_ADDRESS"]) return;
  const path = `${process.env["XDG_RUNTIME_DIR"] ?? `/run/user/${uid}`}/bus`;
  try {
    const socket = lstatSync(path);
    if (socket.isSocket() && socket.uid === uid) process.env["DBUS_SESSION_BUS_ADDRESS"] = `unix:path=${path}`;
  } catch {
    // No bus there: the addon will say so.
  }
}

async function entryOf(service: string, account: string) {
  restoreBusAddress();
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
  restoreBusAddress();
  const { findCredentialsAsync } = await import("@napi-rs/keyring");
  return (await findCredentialsAsync(service)).map(({ account }) => account);
}

/** False when there was none. */
export const deletePassword = async (service: string, account: string): Promise<boolean> =>
  await (await entryOf(service, account)).deleteCredential();
