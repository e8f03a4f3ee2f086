// Runs the keychain addon in a separate process, because the addon can block for seconds or forever and would block the server.
// Secrets are transferred only through the channel to the parent.
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import type { AsyncEntry } from "@napi-rs/keyring";
import { errorMessage } from "../../core/failure.ts";
import { type KeychainErrorKind, type KeychainReply, KeychainRequest } from "./keychain.ts";

const SERVICE = "mic-mcp";
// On Linux, entries are in the Secret Service, never in the kernel's keyutils, which lose them at reboot. Other systems have one
// store.
const STORE = { linux: { store: "secret-service" } } as const;

/** Cached, because each entry holds a connection to the bus until it is garbage-collected; a user has only 256 of them. */
const entries = new Map<string, AsyncEntry>();

async function withEntry<T>(account: string, work: (entry: AsyncEntry) => Promise<T>): Promise<T> {
  const { AsyncEntry } = await import("@napi-rs/keyring");
  const entry = entries.get(account) ?? new AsyncEntry(SERVICE, account, STORE);
  // An entry that failed is not used again, because a restarted keychain does not recognize it.
  entries.delete(account);
  const result = await work(entry);
  entries.set(account, entry);
  return result;
}

// Secrets are passed as bytes, because Windows allows 2560 bytes for a secret and would store text as UTF-16.
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

// Classifies the messages of the addon and of D-Bus. The pattern for a silent keychain comes first, because its message contains
// the word "blocked".
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

// The object disappeared before it could be used: another process removed it, or the Secret Service restarted.
const STALE_REFERENCE =
  /no ?such (?:interface|object|method|session)|does not exist at path|unknown(?:object|interface|method)/i;
const RETRY_DELAYS_MS = [20, 50, 100, 200, 400];

/** Retries an operation whose object disappeared; repeating any operation does no harm. */
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
    // The random part of the delay keeps two processes that collided from colliding again.
    await sleep(retryDelayMs * (0.5 + Math.random()));
    return await performWithRetry(request, laterDelays);
  }
}

// A normal exit would wait for a call that the keychain has not yet answered.
process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));
// If such a call blocks this thread when the parent is killed, only another thread can end the process.
const watchdog = `const { ppid } = process;
  setInterval(() => { if (process.ppid !== ppid) process.kill(process.pid, "SIGKILL"); }, 1_000);`;
new Worker(watchdog, { eval: true }).unref();
// The parent ends this process, so an interrupt for the whole process group (Ctrl-C) is ignored here.
process.on("SIGINT", () => undefined);
process.on("message", async (message) => {
  const request = KeychainRequest.safeParse(message);
  if (request.success) process.send?.(await performWithRetry(request.data));
});
