// Cursors: a position and a MAC over it, the list and the workspace, so that a forged or foreign one is refused.
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { createFieldProblem } from "./problems.ts";

const MAC_BYTES = 16;

export interface Cursors {
  /** Base64url of MAC and position: 43 characters for a position of 16 bytes. */
  encode(list: string, position: Uint8Array): string;
  /** The position; throws a Refusal for a cursor that this list did not make. */
  decode(list: string, cursor: string): Buffer;
}

/** Made anew for each process: a cursor does not outlive the emulator that gave it. */
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
