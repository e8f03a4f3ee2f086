// Ids that carry what they stand for under a seal: finding it again needs no storage, and only a server with the key can make
// one. Ids are not secret, but the seal makes them impossible to guess.
import { createHmac, timingSafeEqual } from "node:crypto";
import type * as z from "zod/v4";

const MAX_CHARS = 4_096;

export interface SealedIds<T> {
  /** An id of printable characters. Throws Failure. */
  seal(value: T): Promise<string>;
  /** Undefined when the id is not ours. Throws Failure. */
  open(id: string): Promise<T | undefined>;
}

export function createSealedIds<T>(schema: z.ZodType<T>, key: () => Promise<Buffer>): SealedIds<T> {
  const sealOf = async (text: string): Promise<Buffer> =>
    createHmac("sha256", await key())
      .update(text)
      .digest();

  return {
    /** Gives the same value the same id, of letters, digits, `-`, `_` and one `.`. */
    async seal(value) {
      const text = Buffer.from(JSON.stringify(value)).toString("base64url");
      return `${text}.${(await sealOf(text)).toString("base64url")}`;
    },

    async open(id) {
      if (id.length > MAX_CHARS) return undefined;
      const [text = "", seal = "", ...more] = id.split(".");
      const expected = (await sealOf(text)).toString("base64url");
      const same = seal.length === expected.length && timingSafeEqual(Buffer.from(seal), Buffer.from(expected));
      if (more.length > 0 || !same) return undefined;
      return schema.safeParse(JSON.parse(Buffer.from(text, "base64url").toString())).data;
    },
  };
}
