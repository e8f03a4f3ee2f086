// The thread in the keychain's own process that calls the addon.
import { setTimeout as sleep } from "node:timers/promises";
import { parentPort } from "node:worker_threads";
import { reasonOf } from "../../failure.ts";
import { deletePassword, getPassword, listAccounts, setPassword } from "./addon.ts";
import { type KeychainReply, KeychainRequest, type KeychainTrouble } from "./messages.ts";

const SERVICE = "mic-mcp";

// The texts of the addon and of D-Bus. The silent one first: it speaks of a "blocked" reply.
function troubleOf(reason: string): KeychainTrouble {
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

async function perform({ id, operation, account = "", password }: KeychainRequest): Promise<KeychainReply> {
  if (operation === "list") return { id, accounts: [...(await listAccounts(SERVICE))] };
  if (operation === "delete") return { id, existed: await deletePassword(SERVICE, account) };
  if (operation === "set") {
    await setPassword(SERVICE, account, password ?? "");
    return { id };
  }
  const found = await getPassword(SERVICE, account);
  return { id, ...(found !== undefined && { password: found }) };
}

// What was found was gone before it could be used: another process removed it, or the Secret Service was started anew.
const GONE = /no ?such (?:interface|object|method|session)|does not exist at path|unknown(?:object|interface|method)/i;
const PAUSES_MS = [20, 50, 100, 200, 400];

/** Each operation may be done twice without harm. */
async function answer(request: KeychainRequest, [pauseMs, ...pauses] = PAUSES_MS): Promise<KeychainReply> {
  try {
    return await perform(request);
  } catch (error) {
    const message = reasonOf(error);
    if (pauseMs === undefined || !GONE.test(message)) return { id: request.id, trouble: troubleOf(message), message };
    // Two that met are not to meet again.
    await sleep(pauseMs * (0.5 + Math.random()));
    return await answer(request, pauses);
  }
}

parentPort?.on("message", async (message) => {
  const request = KeychainRequest.safeParse(message);
  if (request.success) parentPort?.postMessage(await answer(request.data));
});
