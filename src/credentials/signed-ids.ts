// Creates signed ids that contain their own data, so that no storage is needed, and that only a server with the key can create.
import { createHmac, scrypt, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";
import type * as z from "zod/v4";
import type { Identity } from "./identity.ts";

const MAX_CHARS = 4_096;
const derive = promisify<string, string, number, Buffer>(scrypt);
const KEY_BYTES = 32;

/** Derived from the client credentials, so every process computes the same key. Throws Failure `not_configured`. */
function createSigningKeyProvider({ baseUrl, credentials }: Identity): () => Promise<Buffer> {
  let cached: { readonly from: string; readonly key: Promise<Buffer> } | undefined;
  return async () => {
    const { clientId, clientSecret } = await credentials();
    const salt = JSON.stringify(["mic-mcp task ids", await baseUrl(), clientId]);
    const from = JSON.stringify([salt, clientSecret]);
    // scrypt is slow on purpose: an attacker with a signed id must not be able to test secrets against it.
    if (cached?.from !== from) cached = { from, key: derive(clientSecret, salt, KEY_BYTES) };
    return await cached.key;
  };
}

export interface IdCodec<T> {
  /** Returns an id of printable characters. Throws Failure. */
  encode(value: T): Promise<string>;
  /** Returns the value, or undefined if the id was not signed with this key. Throws Failure. */
  decode(id: string): Promise<T | undefined>;
}

export function createSignedIdCodec<T>(schema: z.ZodType<T>, identity: Identity): IdCodec<T> {
  const key = createSigningKeyProvider(identity);
  const sign = async (text: string): Promise<Buffer> =>
    createHmac("sha256", await key())
      .update(text)
      .digest();

  return {
    /** Returns the same id for the same value: letters, digits, `-`, `_` and one `.`. */
    async encode(value) {
      const text = Buffer.from(JSON.stringify(value)).toString("base64url");
      return `${text}.${(await sign(text)).toString("base64url")}`;
    },

    async decode(id) {
      if (id.length > MAX_CHARS) return undefined;
      const [text = "", signature = "", ...more] = id.split(".");
      const expected = (await sign(text)).toString("base64url");
      const isAuthentic =
        signature.length === expected.length && timingSafeEqual(Buffer.from(signature), Buffer.from(expected));
      if (more.length > 0 || !isAuthentic) return undefined;
      return schema.safeParse(JSON.parse(Buffer.from(text, "base64url").toString())).data;
    },
  };
}
