// Creates cursors from a position and a MAC over the position, list and workspace, so that a forged or foreign cursor is refused.
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { createFieldProblem } from "./problems.ts";

const MAC_BYTES = 16;

export interface Cursors {
  /** Returns the MAC and the position as base64url: 43 characters for a position of 16 bytes. */
  encode(list: string, position: Uint8Array): string;
  /** Returns the position. Throws ProblemError if the cursor is not from this list. */
  decode(list: string, cursor: string): Buffer;
}

/** The secret is random, so a cursor is valid only until its emulator ends. */
export function createCursors(): Cursors {
  const secret = randomBytes(32);
  const computeMac = (list: string, position: Uint8Array): Buffer =>
    createHmac("sha256", secret).update(`${list}\n`).update(position).digest().subarray(0, MAC_BYTES);
  return {
    encode: (list, position) => Buffer.concat([computeMac(list, position), position]).toString("base64url"),
    decode(list, cursor) {
      const bytes = Buffer.from(cursor, "base64url");
      const mac = bytes.subarray(0, MAC_BYTES);
      const position = bytes.subarray(MAC_BYTES);
      const isValid =
        mac.length === MAC_BYTES &&
        bytes.toString("base64url") === cursor &&
        timingSafeEqual(mac, computeMac(list, position));
      if (!isValid)
        throw createFieldProblem("INVALID_CURSOR", "/query/cursor", "Pass page.nextCursor of this list, unchanged.");
      return position;
    },
  };
}
