// The keychain's own process: the addon can block for seconds or for ever, and a blocked server would be a dead one.
// Secrets come and go through the channel to the parent only.
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import type { AsyncEntry } from "@napi-rs/keyring";
import { errorMessage } from "../../core/failure.ts";
import { type KeychainErrorKind, type KeychainReply, KeychainRequest } from "./keychain.ts";

const SERVICE = "mic-mcp";
// Linux: the Secret Service, never the kernel's keyutils, which forgets at reboot. Other systems have one store.
const STORE = { linux: { store: "secret-service" } } as const;

/** Kept, since each holds a connection to the bus until it is collected: and of those a user has 256, for all programs. */
const entries = new Map<string, AsyncEntry>();

async function withEntry<T>(account: string, work: (entry: AsyncEntry) => Promise<T>): Promise<T> {
  const { AsyncEntry } = await import("@napi-rs/keyring");
  const entry = entries.get(account) ?? new AsyncEntry(SERVICE, account, STORE);
  // One that fails is not used again: a keychain that was started again does not know it.
  entries.delete(account);
  const result = await work(entry);
  entries.set(account, entry);
  return result;
}

// Bytes, not text: Windows counts 2560 bytes for a secret and would take UTF-16 for text.
async function perform({ id, operation, account = "", password = "" }: KeychainRequest): Promise<KeychainReply> {
  switch (operation) {
    case "list": {
      const { findCredentialsAsync } = await import("@napi-rs/keyring");
      return { id, accounts: (await findCredentialsAsync(SERVICE)).map((found) => found.account) };
    }
    case "delete":
      return { id, existed: await withEntry(account, (entry) => entry.deleteCredential()) };
    case "set":
      await withEntry(account, (entry) => entry.setSecret(Buffer.from(password, "utf8")));
      return { id };
    case "get": {
      const bytes = await withEntry(account, (entry) => entry.getSecret());
      return { id, ...(bytes && { password: Buffer.from(bytes).toString("utf8") }) };
    }
  }
}

// The texts of the addon and of D-Bus. The silent one first: it speaks of a "blocked" reply.
function toErrorKind(reason: string): KeychainErrorKind {
  if (/did not receive a reply|timeout was reached|timed? ?out/i.test(reason)) return "silent";
  if (/\blocked\b|prompt was dismissed|no result found|interaction is not allowed/i.test(reason)) return "locked";
  if (/native binding|cannot find (?:module|package)/i.test(reason)) return "unusable";
  if (
    /DBUS_SESSION_BUS_ADDRESS|not provided|autolaunch|Cannot find|platform storage|no such file|connection refused|NoStorageAccess|not supported|failed to connect/i.test(
      reason,
    )
  )
    return "absent";
  return "failed";
}

// What was found was gone before it could be used: another process removed it, or the Secret Service restarted.
const STALE_REFERENCE =
  /no ?such (?:interface|object|method|session)|does not exist at path|unknown(?:object|interface|method)/i;
const RETRY_DELAYS_MS = [20, 50, 100, 200, 400];

/** Each operation may be done twice without harm. */
async function performWithRetry(
  request: KeychainRequest,
  [retryDelayMs, ...laterDelays] = RETRY_DELAYS_MS,
): Promise<KeychainReply> {
  try {
    return await perform(request);
  } catch (error) {
    const message = errorMessage(error);
    if (retryDelayMs === undefined || !STALE_REFERENCE.test(message))
      return { id: request.id, kind: toErrorKind(message), message };
    // Two that met are not to meet again.
    await sleep(retryDelayMs * (0.5 + Math.random()));
    return await performWithRetry(request, laterDelays);
  }
}

// An ordinary exit would wait for a call that the keychain still holds.
process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));
// If such a call blocks this thread when the parent is killed, only another thread can end the process.
const watchdog = `const { ppid } = process;
  setInterval(() => { if (process.ppid !== ppid) process.kill(process.pid, "SIGKILL"); }, 1_000);`;
new Worker(watchdog, { eval: true }).unref();
// The parent decides when it ends: a signal for the whole group (Ctrl-C) is the parent's business.
process.on("SIGINT", () => undefined);
process.on("message", async (message) => {
  const request = KeychainRequest.safeParse(message);
  if (request.success) process.send?.(await performWithRetry(request.data));
});
