// Creates cursors from a position and a MAC over the position, list and workspace, so that a forged or foreign cursor is refused.
import { createHmac, randomBytes } from "node:crypto";
import { createFieldProblem } from "./problems.ts";

const MAC_BYTES = 16;

/** The secret is random, so a cursor is valid only until its emulator ends. */
export function createCursors() {
  const secret = randomBytes(32);
  function encode(list: string, position: Uint8Array): string {
    const mac = createHmac("sha256", secret).update(`${list}\n`).update(position).digest().subarray(0, MAC_BYTES);
    return Buffer.concat([mac, position]).toString("base64url");
  }
  return {
    encode,
    /** Returns the position. Throws ProblemError if the cursor is not from this list. */
    decode(list: string, cursor: string): Buffer {
      const position = Buffer.from(cursor, "base64url").subarray(MAC_BYTES);
      if (encode(list, position) === cursor) return position;
      throw createFieldProblem("INVALID_CURSOR", "/query/cursor", "Pass page.nextCursor of this list, unchanged.");
    },
  };
}
