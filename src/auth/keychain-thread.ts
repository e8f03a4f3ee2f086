// The thread in the keychain's own process that calls the addon.
import { parentPort } from "node:worker_threads";
import { reasonOf } from "../failure.ts";
import { deletePassword, getPassword, listAccounts, setPassword } from "./keychain-addon.ts";
import { type KeychainReply, KeychainRequest, type KeychainTrouble } from "./keychain-messages.ts";

const SERVICE = "mic-mcp";

// The texts of the addon and of D-Bus. The silent one first: it speaks of a "blocked" reply.
function troubleOf(reason: string): KeychainTrouble {
  if (/did not receive a reply|timeout was reached|timed? ?out/i.test(reason)) return "silent";
  if (/\blocked\b|prompt was dismissed|no result found|interaction is not allowed/i.test(reason)) return "locked";
  if (
    /DBUS_SESSION_BUS_ADDRESS|not provided|autolaunch|native binding|Cannot find|platform storage|no such file|connection refused|NoStorageAccess|not supported|failed to connect/i.test(
      reason,
    )
  )
    return "absent";
  return "failed";
}

async function answer({ id, operation, account = "", password }: KeychainRequest): Promise<KeychainReply> {
  try {
    if (operation === "list") return { id, accounts: [...(await listAccounts(SERVICE))] };
    if (operation === "delete") return { id, existed: await deletePassword(SERVICE, account) };
    if (operation === "set") {
      await setPassword(SERVICE, account, password ?? "");
      return { id };
    }
    const found = await getPassword(SERVICE, account);
    return { id, ...(found !== undefined && { password: found }) };
  } catch (error) {
    const message = reasonOf(error);
    return { id, trouble: troubleOf(message), message };
  }
}

parentPort?.on("message", async (message) => {
  const request = KeychainRequest.safeParse(message);
  if (request.success) parentPort?.postMessage(await answer(request.data));
});
