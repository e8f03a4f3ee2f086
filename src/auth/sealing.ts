// A key for what clients keep for us, such as the ids of tasks: derived from the client credentials, so it is the same in
// every process that has them, nobody else has it, and nothing is stored. A client secret that is replaced ends it.
import { scrypt } from "node:crypto";
import { promisify } from "node:util";
import type { Identity } from "./identity.ts";

const derive = promisify<string, string, number, Buffer>(scrypt);
const KEY_BYTES = 32;

/** Throws Failure `not_configured`. */
export function createSealingKey({ baseUrl, credentials }: Identity): () => Promise<Buffer> {
  let made: { readonly from: string; readonly key: Promise<Buffer> } | undefined;
  return async () => {
    const { clientId, clientSecret } = await credentials();
    const salt = JSON.stringify(["mic-mcp sealed for clients", await baseUrl(), clientId]);
    const from = JSON.stringify([salt, clientSecret]);
    // Slow on purpose: somebody who holds sealed text must not be able to try out secrets on it.
    if (made?.from !== from) made = { from, key: derive(clientSecret, salt, KEY_BYTES) };
    return await made.key;
  };
}
